<?php
function slow(): void { usleep(30000000); }
array_map(fn() => slow(), [1]);
