// SPDX-License-Identifier: Apache-2.0

package php

import "prywalk/internal/walk/managed"

// layout has offsets, bytes.
type layout struct {
	release                  managed.Release // the first of the row
	current                  int64           // in executor globals: EG(current_execute_data)
	opcodes, last            int64
	file, lines              int64
	headSize                 int64 // copied bytes of an op array
	closure                  uint32
	generatorData, generator int64 // in a generator: its execute data, the one that it waits for
	generatorFake            int64 // in a generator: the record of its waiters
}

const (
	globalsVMStackTop = -32 // from EG(current_execute_data)
	globalsVMStack    = -16 // newest page

	callOpline = 0
	callFunc   = 24
	callThis   = 32
	callInfo   = 40
	callPrev   = 48
	callSize   = 56 // copied bytes

	funcType  = 0
	funcName  = 8
	funcScope = 16

	className = 8

	textHash    = 8
	textLength  = 16
	textContent = 24

	opLine = 24
	opSize = 32
)

// GC_TYPE_INFO of texts (Zend/zend_types.h), in the upper half of the first word.
const (
	typeText      = 6     // IS_STRING
	textFlags     = 0x3f0 // GC_FLAGS_MASK
	textImmutable = 1 << 6
)

// Zend/zend_compile.h.
const (
	typeInternal = 1
	typeUser     = 2
	typeEval     = 4
)

const (
	flagImmutable  = 1 << 7
	flagTrampoline = 1 << 18
)

const (
	thisTypeMask = 0xff
	callCode     = 1 << 16 // code of a file or eval
	callTop      = 1 << 17
	isObject     = 8 // type of This
)

var layouts = []layout{
	{
		release: 704, current: 488, opcodes: 64, last: 60, file: 136, lines: 144, headSize: 152, closure: 1<<20 | 1<<21,
		generatorData: 64, generator: 160, generatorFake: 200,
	},
	{
		release: 800, current: 488, opcodes: 72, last: 68, file: 144, lines: 152, headSize: 160, closure: 1<<22 | 1<<23,
		generatorData: 56, generator: 152, generatorFake: 184,
	},
	{
		release: 802, current: 488, opcodes: 88, last: 80, file: 152, lines: 160, headSize: 168, closure: 1<<22 | 1<<23,
		generatorData: 56, generator: 152, generatorFake: 184,
	},
	{
		release: 803, current: 488, opcodes: 80, last: 76, file: 144, lines: 152, headSize: 160, closure: 1<<22 | 1<<23,
		generatorData: 56, generator: 152, generatorFake: 184,
	},
	{
		release: 804, current: 488, opcodes: 104, last: 96, file: 168, lines: 176, headSize: 184, closure: 1<<22 | 1<<23,
		generatorData: 56, generator: 152, generatorFake: 184,
	},
	{
		release: 805, current: 512, opcodes: 104, last: 96, file: 168, lines: 176, headSize: 184, closure: 1<<22 | 1<<23,
		generatorData: 56, generator: 152, generatorFake: 184,
	},
}

const newestRelease managed.Release = 805

func layoutOf(r managed.Release) (l layout, ok bool) {
	for _, known := range layouts {
		if known.release <= r && r <= newestRelease {
			l, ok = known, true
		}
	}
	return l, ok
}
