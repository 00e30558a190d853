const LOOK_EVERY_MS = 25;

/** Repeats a look at what other processes do until it no longer throws; at the deadline its last error is thrown. */
export async function eventually(look: () => Promise<void>, deadlineMs = 30_000): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    try {
      await look();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise((wake) => setTimeout(wake, LOOK_EVERY_MS));
    }
  }
}
