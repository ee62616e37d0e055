// SPDX-License-Identifier: Apache-2.0

package load

import _ "embed"

// CLoad is a program whose throughput can be measured, as compilers make them by default: without frame
// pointers. It speaks as [prywalk/internal/bench/load] does.
//
//go:embed src/load.c
var CLoad []byte

// PythonLoad is the like for the tools that look into Python's interpreter only.
//
//go:embed src/load.py
var PythonLoad []byte

// JavaLoad is the like for the tools that look into a JVM only.
//
//go:embed src/Load.java
var JavaLoad []byte
