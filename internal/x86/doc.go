// SPDX-License-Identifier: Apache-2.0

// Package x86 decodes the instructions of x86-64, as far as following the stack needs: their length, opcode and
// operands. It is the one decoder of the analysis of instructions (package heuristics) and of Go's functions without
// a true table (internal/runtimes/golang).
//
// Most instructions take a short way (decodePlain). The decoder of golang.org/x/arch takes ten times as long (155 ns an
// instruction against 15, BenchmarkDecode), allocates for some operands, and takes newer instructions (VEX, EVEX, APX)
// for something else. The tests compare the lengths.
//
// Source: Intel SDM volume 2 (appendix A, opcode maps).
package x86
