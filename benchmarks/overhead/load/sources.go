// SPDX-License-Identifier: Apache-2.0

package load

import _ "embed"

// CLoad is a program as compilers make them by default, without frame pointers. It has the protocol of
// [prywalk/benchmarks/bench/load].
//
//go:embed src/load.c
var CLoad []byte

// PythonLoad is the same for tools of Python only.
//
//go:embed src/load.py
var PythonLoad []byte

// JavaLoad is the same for tools of JVMs only.
//
//go:embed src/Load.java
var JavaLoad []byte
