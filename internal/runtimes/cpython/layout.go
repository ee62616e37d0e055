package cpython

import "encoding/binary"

// layout has the offsets of what is read of an interpreter, in bytes.
type layout struct {
	minor int // of the version 3.minor

	runtimeInterps int64 // _PyRuntime: the first interpreter
	runtimeMain    int64 // _PyRuntime: pthread_self of the main thread; 0: not known

	interpNext, interpThreads int64
	interpModules             int64  // sys.modules
	typeKeys                  uint64 // of a type: the keys that its objects share; from 3.11 on

	threadNext, threadInterp, threadID int64
	threadNative                       int64 // the kernel's number of the thread; 0: from 3.11 on only
	threadSize                         int64 // as much of it as is copied
	threadFrame                        int64 // innermost frame, or in 3.11 and 3.12 the innermost _PyCFrame
	threadChunk, threadTop             int64 // data stack: the newest chunk, and where its used part ends; 0: none

	cframe                    bool
	cframeCurrent, cframePrev int64

	frameCode, framePrev, frameInstr int64
	frameOwner                       int64 // byte: who owns the frame; 0: none
	frameEntry                       int64 // byte of 3.11: entered from C
	frameSize                        int64

	codeFile, codeName, codeQual, codeFirst int64
	codeTable                               int64
	codeInstr                               int64 // 3.11 on: where the instructions begin in the object itself
	codeVersion                             int64 // 3.12 on: 32 bits that no other code object of the process has; 0: none
	codeTypeSize                            int64 // tp_basicsize of the type of code objects; from 3.11 on without the instructions
	codeHead                                int64 // as much of a code object as tells its identity

	textASCII, textCompact int64 // sizes of the heads of strings
}

// Owners of frames ([layout.frameOwner]).
const (
	ownedByThread    = 0
	ownedByGenerator = 1
	ownedByObject    = 2
	ownedByCStack    = 3
)

// Offsets that are the same in all versions: of any object its type, of a bytes object its size and content, of a
// string its length, hash and state, of a type its size and members.
const (
	objectType   = 8
	bytesSize    = 16
	bytesContent = 32
	textLength   = 16
	textHash     = 24
	textState    = 32
	typeSize     = 32
	typeMembers  = 240
)

// layouts are those of releases before 3.13. They hold for builds without Py_TRACE_REFS.
var layouts = map[int]layout{
	8: upTo310(104, 56), 9: upTo310(104, 856), 10: upTo310(96, 856),
	11: {
		minor: 11, runtimeInterps: 40, runtimeMain: 80, interpThreads: 16, interpModules: 888, typeKeys: 872,
		threadNext: 8, threadInterp: 16, threadID: 152, threadNative: 160, threadSize: 360, threadFrame: 56,
		threadChunk: 296, threadTop: 304,
		cframe: true, cframeCurrent: 8, cframePrev: 16,
		frameCode: 32, framePrev: 48, frameInstr: 56, frameEntry: 68, frameOwner: 69, frameSize: 80,
		codeFile: 112, codeName: 120, codeQual: 128, codeFirst: 72, codeTable: 136, codeInstr: 184,
		codeTypeSize: 184, codeHead: 144, textASCII: 48, textCompact: 72,
	},
	12: {
		minor: 12, runtimeInterps: 40, runtimeMain: 64, interpThreads: 72, interpModules: 944, typeKeys: 880,
		threadNext: 8, threadInterp: 16, threadID: 136, threadNative: 144, threadSize: 288, threadFrame: 56,
		threadChunk: 232, threadTop: 240,
		cframe: true, cframePrev: 8,
		framePrev: 8, frameInstr: 56, frameOwner: 70, frameSize: 80,
		codeFile: 112, codeName: 120, codeQual: 128, codeFirst: 68, codeTable: 136, codeInstr: 192, codeVersion: 92,
		codeTypeSize: 192, codeHead: 144, textASCII: 40, textCompact: 56,
	},
}

// upTo310 is the layout of 3.8 to 3.10, where frames are objects. lasti is where they keep their instruction,
// modules where the interpreter keeps sys.modules.
func upTo310(lasti, modules int64) layout {
	l := layout{
		minor: 8, runtimeInterps: 32, runtimeMain: 72, interpThreads: 8, interpModules: modules,
		threadNext: 8, threadInterp: 16, threadID: 176, threadSize: 264, threadFrame: 24,
		frameCode: 32, framePrev: 24, frameInstr: lasti, frameSize: 112,
		codeFile: 104, codeName: 112, codeFirst: 40, codeTable: 120,
		codeTypeSize: 176, codeHead: 128, textASCII: 48, textCompact: 72,
	}
	if lasti == 96 {
		l.minor = 10
	}
	return l
}

// Offsets in _Py_DebugOffsets of 3.13, with which _PyRuntime begins (Include/internal/pycore_runtime.h).
const (
	debugCookie       = "xdebugpy"
	debugVersion      = 8
	debugFreeThreaded = 16
	debugSize13       = 584
)

// described gives the layout that a runtime of 3.13 describes itself; false if it is another one.
func described(b []byte) (l layout, ok bool) {
	if len(b) < debugSize13 || string(b[:8]) != debugCookie {
		return l, false
	}
	at := func(off int) int64 { return int64(binary.LittleEndian.Uint64(b[off:])) }
	if v := at(debugVersion) >> 16; v != 0x030d || at(debugFreeThreaded) != 0 {
		return l, false
	}
	l = layout{
		minor: 13, runtimeInterps: at(40),
		interpNext: at(64), interpThreads: at(72), interpModules: at(88), typeKeys: 880,
		threadNext: at(168), threadInterp: at(176), threadFrame: at(184), threadID: at(192), threadNative: at(200),
		threadChunk: at(208), threadTop: at(208) + 8, threadSize: at(208) + 24,
		framePrev: at(232), frameCode: at(240), frameInstr: at(248), frameOwner: at(264), frameSize: 80,
		codeFile: at(280), codeName: at(288), codeQual: at(296), codeTable: at(304), codeFirst: at(312), codeInstr: at(344),
		codeVersion: 92, codeTypeSize: at(344), codeHead: 144, textASCII: at(560), textCompact: at(560) + 16,
	}
	return l, l.sane()
}

// sane reports whether all offsets can be those of a layout: a process may say what it likes.
func (l *layout) sane() bool {
	const most = 1 << 20
	for _, off := range []int64{
		l.runtimeInterps, l.interpNext, l.interpThreads, l.interpModules, l.threadNext, l.threadInterp, l.threadFrame, l.threadID,
		l.threadNative, l.threadChunk, l.codeTypeSize, l.codeInstr,
	} {
		if off < 0 || off > most {
			return false
		}
	}
	for _, off := range []int64{l.framePrev, l.frameCode, l.frameInstr} {
		if off < 0 || off > l.frameSize-8 {
			return false
		}
	}
	for _, off := range []int64{l.codeFile, l.codeName, l.codeQual, l.codeTable, l.codeFirst} {
		if off < 0 || off > l.codeHead-8 {
			return false
		}
	}
	return l.frameOwner > 0 && l.frameOwner < l.frameSize && l.threadSize <= 1024 && l.textASCII >= 40 && l.textASCII <= 64
}
