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
	objects, fiberCall       int64 // from executor globals, in a fiber; 0 means no fibers, or not known
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
	since80(800, 488, 72, 68, 144, 0, 0), since80(802, 488, 88, 80, 152, 840, 280),
	since80(803, 488, 80, 76, 144, 840, 288), since80(804, 488, 104, 96, 168, 856, 288),
	since80(805, 512, 104, 96, 168, 880, 288),
}

func since80(release managed.Release, current, opcodes, last, file, objects, fiberCall int64) layout {
	return layout{
		release: release, current: current, opcodes: opcodes, last: last, file: file, lines: file + 8, headSize: file + 16,
		closure: 1<<22 | 1<<23, generatorData: 56, generator: 152, generatorFake: 184,
		objects: objects, fiberCall: fiberCall,
	}
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
