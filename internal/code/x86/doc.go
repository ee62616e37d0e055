// SPDX-License-Identifier: Apache-2.0

// Package x86 decodes x86-64 instructions as far as unwinding needs: length, opcode and operands.
//
// golang.org/x/arch's decoder takes five to eight times as long (BenchmarkDecode), allocates for some operands and
// misreads newer instructions (VEX, EVEX, APX). Tests compare the lengths.
//
//	prefixes │ REX, VEX or EVEX │ opcode (map) │ ModRM │ SIB │ displacement │ immediate
//
// Source: Intel SDM volume 2 (chapter 2; appendix A, opcode maps).
package x86
