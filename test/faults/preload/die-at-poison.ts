/** Ends the process, as a crash of its runtime would, once it has begun to send a call to /poison. */
import { Socket } from "node:net";

const HEAD = "POST /poison";
const write = Socket.prototype.write;

function writeOrDie(this: Socket, ...args: Parameters<typeof write>): boolean {
  const [chunk] = args;
  const isPoison = String(chunk).startsWith(HEAD);
  const taken = write.apply(this, args);
  // When the operating system has it.
  if (isPoison) setImmediate(() => process.kill(process.pid, "SIGKILL"));
  return taken;
}

Socket.prototype.write = writeOrDie as typeof write;
