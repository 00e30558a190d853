import { join } from "node:path";

/** `install PACKAGE…`: how all that is ours asks for packages of the system, because apt-get itself does not wait for another. */
export const APT = join(import.meta.dirname, "native", "apt.sh");
