/** A certificate authority of the test's own, by the openssl command, and a certificate of it for some names. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Writes into `dir`: `ca.pem`, what NODE_EXTRA_CA_CERTS names, and what readCertificate reads. */
export function makeCertificates(dir: string, subjects: readonly string[]): void {
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { cwd: dir, stdio: ["ignore", "pipe", "pipe"] });
  const days = ["-days", "2"];
  openssl(
    "req",
    "-x509",
    ...NEW_KEY,
    ...days,
    "-subj",
    "/CN=test",
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
  );
  openssl(
    "req",
    "-new",
    ...NEW_KEY,
    "-subj",
    "/CN=server",
    "-keyout",
    "server.key",
    "-out",
    "server.csr",
  );
  writeFileSync(join(dir, "names.ext"), `subjectAltName=${subjects.join(",")}\n`);
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names.ext"];
  openssl("x509", "-req", "-in", "server.csr", ...signed, ...days, "-out", "server.pem");
}

export function readCertificate(dir: string): Certificate {
  const read = (name: string) => readFileSync(join(dir, name), "utf8");
  return { key: read("server.key"), cert: read("server.pem") };
}
