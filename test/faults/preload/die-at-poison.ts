/** Ends the process, as a crash of its runtime would, once it has sent the head of a call to /poison. */
import { subscribe } from "node:diagnostics_channel";

subscribe("undici:client:sendHeaders", (message) => {
  const { request } = message as { readonly request: { readonly path: string } };
  if (request.path.startsWith("/poison")) process.kill(process.pid, "SIGKILL");
});
