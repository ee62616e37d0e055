<?php
function slow(): void { usleep(300000000); }
array_map(fn() => slow(), [1]);
