// What every page does: stay live, listen to keys, act.

import { startActing } from "./act.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startPalette } from "./palette.js";
import { startTicking } from "./tick.js";

startTicking();
startActing();
startKeys();
startPalette();
startLive();
