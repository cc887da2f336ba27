"""An emulator of Daytona, for the real SDK: start it with `tests.daytona.emulator.Emulator`."""
