/** A clock that is wrong: `--import` of this shifts what Date tells in this process, and no timer. */
const shiftMs = Number(process.env.SHIFT_DATE_MS ?? 0);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(RealDate.now() + shiftMs);
    else super(...(args as ConstructorParameters<typeof Date>));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
