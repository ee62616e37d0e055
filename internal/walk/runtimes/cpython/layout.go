// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
)

// layout has offsets, bytes.
type layout struct {
	minor int // of 3.minor

	runtimeInterps int64 // in _PyRuntime: the first interpreter
	runtimeMain    int64 // in _PyRuntime, pthread_self of the main thread; 0 means unknown

	interpNext, interpThreads int64
	interpModules             int64 // sys.modules
	typeKeys                  uint64

	threadNext, threadInterp, threadID int64
	threadNative                       int64 // kernel thread ID, 3.11 on; 0 means none
	threadSize                         int64 // bytes to copy
	threadFrame                        int64 // innermost frame, or _PyCFrame in 3.11 and 3.12
	threadChunk, threadTop             int64 // data stack: newest chunk, and end of its used part; 0 means none

	cframe                    bool
	cframeCurrent, cframePrev int64

	frameCode, framePrev, frameInstr int64
	frameOwner                       int64  // byte; 0 means none
	frameMask                        uint64 // without tags (3.14 on)
	frameEntry                       int64  // byte, 3.11: entered from C
	frameSize                        int64
	frameLocals                      int64 // 3.11 on: local variables, then the value stack

	codeFile, codeName, codeQualname, codeFirstLine int64
	codeLineTable                                   int64
	codeBytecode                                    int64 // 3.11 on: start of the instructions
	codeVersion                                     int64 // 3.12 on: 32 bits, unique in its interpreter; 0 means none
	codeTypeSize                                    int64 // tp_basicsize of the code type
	codeHead                                        int64 // bytes with the identity

	// frameCopy and codeCopies are of free-threaded builds from 3.14 on, else 0: see interpreter.offsetOf.
	frameCopy, codeCopies int64

	textASCII, textCompact int64
	textInterned           uint8 // bits before the kind, in the state

	headExtra  uint64 // more bytes in object heads of free-threaded builds
	dictBefore uint64 // 3.11 on: from the dict pointer to its object
}

const (
	headExtraFreeThreaded = 16 // struct _object, Include/object.h
	newestFreeThreaded    = 14
)

func (l *layout) hasFrameObjects() bool { return l.minor <= 10 }

const (
	ownedByThread    = 0
	ownedByGenerator = 1
	ownedByObject    = 2
	ownedByCStack    = 3 // from 3.14 on FRAME_OWNED_BY_INTERPRETER, and 4 is by the C stack
)

const (
	objectType   = 8
	bytesSize    = 16
	bytesContent = 32
	textLength   = 16
	textHash     = 24
	textState    = 32
	typeNameAddr = 24
	typeSize     = 32
	typeMembers  = 240
)

var layouts = map[int]layout{
	8: upTo310(8, 104, 56), 9: upTo310(9, 104, 856), 10: upTo310(10, 96, 856),
	11: {
		minor: 11, runtimeInterps: 40, runtimeMain: 80, interpThreads: 16, interpModules: 888, typeKeys: 872,
		threadNext: 8, threadInterp: 16, threadID: 152, threadNative: 160, threadSize: 360, threadFrame: 56,
		threadChunk: 296, threadTop: 304,
		cframe: true, cframeCurrent: 8, cframePrev: 16,
		frameCode: 32, framePrev: 48, frameInstr: 56, frameEntry: 68, frameOwner: 69, frameSize: 80, frameLocals: 72,
		codeFile: 112, codeName: 120, codeQualname: 128, codeFirstLine: 72, codeLineTable: 136, codeBytecode: 184,
		codeTypeSize: 184, codeHead: 144, textASCII: 48, textCompact: 72, textInterned: 2, frameMask: all, dictBefore: 24,
	},
	12: {
		minor: 12, runtimeInterps: 40, runtimeMain: 64, interpThreads: 72, interpModules: 944, typeKeys: 880,
		threadNext: 8, threadInterp: 16, threadID: 136, threadNative: 144, threadSize: 288, threadFrame: 56,
		threadChunk: 232, threadTop: 240,
		cframe: true, cframePrev: 8,
		framePrev: 8, frameInstr: 56, frameOwner: 70, frameSize: 80, frameLocals: 72,
		codeFile: 112, codeName: 120, codeQualname: 128, codeFirstLine: 68, codeLineTable: 136, codeBytecode: 192,
		codeVersion: 92, codeTypeSize: 192, codeHead: 144, textASCII: 40, textCompact: 56, textInterned: 2, frameMask: all,
		dictBefore: 24,
	},
}

func upTo310(minor int, lasti, modules int64) layout {
	return layout{
		minor: minor, runtimeInterps: 32, runtimeMain: 72, interpThreads: 8, interpModules: modules,
		threadNext: 8, threadInterp: 16, threadID: 176, threadSize: 264, threadFrame: 24,
		frameCode: 32, framePrev: 24, frameInstr: lasti, frameSize: 112,
		codeFile: 104, codeName: 112, codeFirstLine: 40, codeLineTable: 120,
		codeTypeSize: 176, codeHead: 128, textASCII: 48, textCompact: 72, textInterned: 2, frameMask: all,
	}
}

// stackRefMask clears the tags of _PyStackRef.
const (
	all          = ^uint64(0)
	stackRefMask = ^uint64(7)
)

const (
	debugCookie       = "xdebugpy"
	debugVersion      = 8
	debugFreeThreaded = 16
)

type debugTable struct {
	size                      int
	modules                   int // imports_modules
	thread, frame, code, text int
	typeKeys                  uint64
	frameMask                 uint64
	ids                       int  // thread_id, in thread
	base                      bool // the outermost frame follows the thread state
}

var debugTables = map[int]debugTable{
	13: {size: 584, modules: 88, thread: 152, ids: 192, frame: 224, code: 272, text: 536, typeKeys: 880, frameMask: all},
	14: {
		size: 760, modules: 96, thread: 176, ids: 216, frame: 248, code: 312, text: 616, typeKeys: 880,
		frameMask: stackRefMask,
	},
	15: {
		size: 888, modules: 96, thread: 176, ids: 240, frame: 312, code: 376, text: 712, typeKeys: 888,
		frameMask: stackRefMask, base: true,
	},
}

const maxDebug = 888

// layoutOfDebugOffsets is for 3.13 on. Its numbers are places in _Py_DebugOffsets (at), and
// offsets that it lacks.
func layoutOfDebugOffsets(b []byte) (l layout, ok bool) {
	if len(b) < debugFreeThreaded+8 || string(b[:8]) != debugCookie {
		return l, false
	}
	at := func(off int) int64 { return int64(binary.LittleEndian.Uint64(b[off:])) }
	minor := int(at(debugVersion) >> 16 & 0xff)
	d, known := debugTables[minor]
	if at(debugVersion)>>24 != 3 || !known || len(b) < d.size || isFreeThreaded(b) && minor > newestFreeThreaded {
		return l, false
	}
	l = layout{
		minor: minor, runtimeInterps: at(40),
		interpNext: at(64), interpThreads: at(72), interpModules: at(d.modules), typeKeys: d.typeKeys,
		threadNext: at(d.thread + 16), threadInterp: at(d.thread + 24), threadFrame: at(d.thread + 32),
		threadID: at(d.ids), threadNative: at(d.ids + 8), threadChunk: at(d.ids + 16),
		threadTop: at(d.ids+16) + 8, threadSize: at(d.ids+16) + 24,
		framePrev: at(d.frame + 8), frameCode: at(d.frame + 16), frameInstr: at(d.frame + 24),
		frameLocals: at(d.frame + 32), frameOwner: at(d.frame + 40), frameSize: 80, frameMask: d.frameMask,
		codeFile: at(d.code + 8), codeName: at(d.code + 16), codeQualname: at(d.code + 24), codeLineTable: at(d.code + 32),
		codeFirstLine: at(d.code + 40), codeBytecode: at(d.code + 72), codeVersion: 92,
		codeTypeSize: at(d.code + 72), codeHead: 144, textASCII: at(d.text + 24), textCompact: at(d.text+24) + 16,
		textInterned: 2, dictBefore: 24,
	}
	if isFreeThreaded(b) {
		l.headExtra, l.dictBefore = headExtraFreeThreaded, 8
		l.typeKeys += headExtraFreeThreaded
		l.codeVersion += headExtraFreeThreaded
		l.codeHead += headExtraFreeThreaded
		if minor >= 14 {
			l.frameCopy, l.codeCopies, l.textInterned = at(d.frame+56), at(d.code+80), 8
		}
	}
	if d.base { // _PyThreadStateImpl, Include/internal/pycore_tstate.h
		l.threadSize = at(d.thread) + l.frameSize
	}
	return l, l.sane()
}

func isFreeThreaded(b []byte) bool {
	return string(b[:8]) == debugCookie && binary.LittleEndian.Uint64(b[debugFreeThreaded:]) != 0
}

// maxTextHead bounds layout.textCompact.
const maxTextHead = 72

func (l *layout) sane() bool {
	const most = 1 << 20
	for _, within := range []struct {
		bytes   int64
		offsets []int64
	}{
		{most, []int64{l.runtimeInterps, l.interpNext, l.interpThreads, l.interpModules, l.threadChunk, l.codeTypeSize,
			l.codeBytecode, l.codeCopies}},
		{l.threadSize, []int64{l.threadNext, l.threadInterp, l.threadFrame, l.threadID, l.threadNative}},
		{l.frameSize, []int64{l.framePrev, l.frameCode, l.frameInstr, l.frameCopy}},
		{l.codeHead, []int64{l.codeFile, l.codeName, l.codeQualname, l.codeLineTable, l.codeFirstLine}},
	} {
		if slices.Min(within.offsets) < 0 || slices.Max(within.offsets) > within.bytes-8 {
			return false
		}
	}
	return l.frameOwner > 0 && l.frameOwner < l.frameSize && l.threadSize > 0 && l.threadSize <= 1024 &&
		l.textASCII >= 40 && l.textCompact >= l.textASCII && l.textCompact <= maxTextHead
}
