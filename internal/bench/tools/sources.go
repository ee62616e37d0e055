package tools

import _ "embed" // the loads' sources

// CLoad, PythonLoad and JavaLoad are programs whose throughput can be measured: as compilers make them by
// default, without frame pointers, and for the tools that look into one runtime only. They speak as
// [prywalk/internal/bench/load] does.
//
//go:embed src/load.c
var CLoad []byte

// PythonLoad: see [CLoad].
//
//go:embed src/load.py
var PythonLoad []byte

// JavaLoad: see [CLoad].
//
//go:embed src/Load.java
var JavaLoad []byte
