package tools

import _ "embed" // the loads' sources

// PythonLoad and JavaLoad are programs whose throughput can be measured, for the tools that look into one
// runtime only. They speak as [prywalk/internal/bench/load] does.
//
//go:embed src/load.py
var PythonLoad []byte

// JavaLoad: see [PythonLoad].
//
//go:embed src/Load.java
var JavaLoad []byte
