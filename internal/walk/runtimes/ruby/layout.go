// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"slices"

	"prywalk/internal/walk/managed"
)

// layout has offsets on x86-64, bytes (vm_core.h, ractor_core.h, thread_pthread.h, method.h, iseq.h).
type layout struct {
	release managed.Release

	threadVM, threadEC int64
	// threadNative is at pthread_t, or, with nativeID, at a pointer to it, followed by the thread ID.
	threadNative int64
	nativeID     int64
	threadSize   int64 // copied, with the lock's node

	ecThread int64

	// vmThreads is 2.7's list of threads, linked by their first words; vmRactors (3.0 on) that of ractors, by ractorNodes.
	vmThreads, vmRactors int64
	ractorNodes          []int64
	ractorThreads        int64 // list of threads

	frameSize int64

	// struct rb_iseq_constant_body: insns_info; local_iseq after parent_iseq.
	bodyInfo, bodyLocal int64
	tagged              bool  // first line is a Ruby integer
	entrySize           int64 // of iseq_insn_info_entry

	embedAt    int64
	lenInFlags bool // the flags have a short string's length

	lock lockLayout

	qualified bool // backtraces have classes
	class     classLayout
}

// classLayout has offsets, bytes (internal/class.h).
type classLayout struct {
	path, attached int64  // name; in a singleton class: its object
	singleton      uint64 // flag
}

var layouts = []layout{
	{release: 207, threadVM: 24, threadEC: 32, threadNative: 72, threadSize: 104, ecThread: 56, vmThreads: 312,
		lock:      lockLayout{8, 0, 48, 88},
		frameSize: 56, bodyInfo: 120, bodyLocal: 176, tagged: true, entrySize: 8, embedAt: 16, lenInFlags: true},
	{release: 300, threadVM: 32, threadEC: 40, threadNative: 80, threadSize: 112, ecThread: 56, vmRactors: 8,
		ractorNodes: []int64{568}, ractorThreads: 304,
		lock:      lockLayout{32, 0, 48, 96},
		frameSize: 56, bodyInfo: 120, bodyLocal: 176, tagged: true, entrySize: 8, embedAt: 16, lenInFlags: true},
	{release: 301, threadVM: 32, threadEC: 40, threadNative: 80, threadSize: 120, ecThread: 48, vmRactors: 8,
		ractorNodes: []int64{568}, ractorThreads: 304,
		lock:      lockLayout{32, 0, 48, 104},
		frameSize: 64, bodyInfo: 120, bodyLocal: 176, tagged: true, entrySize: 12, embedAt: 16, lenInFlags: true},
	{release: 302, threadVM: 32, threadEC: 48, threadNative: 40, nativeID: 8, threadSize: 72, ecThread: 48,
		vmRactors: 8, ractorNodes: []int64{568}, ractorThreads: 304,
		lock:      lockLayout{32, 0, 48, 56},
		frameSize: 64, bodyInfo: 112, bodyLocal: 168, entrySize: 12, embedAt: 24},
	{release: 303, threadVM: 32, threadEC: 48, threadNative: 40, nativeID: 16, threadSize: 88,
		ecThread: 48, vmRactors: 8, ractorNodes: []int64{432}, ractorThreads: 256,
		lock:      lockLayout{32, 40, 56, 72},
		frameSize: 56, bodyInfo: 112, bodyLocal: 168, entrySize: 12, embedAt: 24},
	{release: 304, threadVM: 32, threadEC: 48, threadNative: 40, nativeID: 16, threadSize: 88,
		ecThread: 48, vmRactors: 8, ractorNodes: []int64{432}, ractorThreads: 256,
		lock:      lockLayout{32, 40, 56, 72},
		frameSize: 56, bodyInfo: 112, bodyLocal: 168, entrySize: 12, embedAt: 24,
		qualified: true, class: classLayout{path: 32 + 120, attached: 32 + 96, singleton: 1 << 13}},
	{release: 400, threadVM: 32, threadEC: 48, threadNative: 40, nativeID: 16, threadSize: 88,
		ecThread: 48, vmRactors: 8, ractorNodes: []int64{368, 360}, ractorThreads: 184,
		lock:      lockLayout{32, 40, 56, 72},
		frameSize: 56, bodyInfo: 112, bodyLocal: 176, entrySize: 12, embedAt: 24,
		qualified: true, class: classLayout{path: 24 + 128, attached: 24 + 112, singleton: 1 << 13}},
}

func layoutOf(release string) (l layout, ok bool) {
	i := slices.IndexFunc(layouts, func(l layout) bool { return l.release.String() == release })
	if i < 0 {
		return l, false
	}
	return layouts[i], true
}

const knownReleases = "2.7, 3.0 to 3.4 and 4.0"

// hasRactors: threads and the interpreter lock are of a ractor.
func (l *layout) hasRactors() bool { return l.release >= 300 }

const (
	ecStack, ecSize, ecFrame, ecTag = 0, 8, 16, 24
	ecCopied                        = 64

	framePC, frameSP, frameISeq, frameEP = 0, 8, 16, 32

	epMethodEntry = -16

	iseqBody = 16

	bodyISeqEncoded                          = 8 // address of the code; before it: kind, number of words
	bodyPath, bodyBase, bodyLabel, bodyFirst = 64, 72, 80, 88
	infoEntries, infoCount, infoSucc         = 0, 16, 24
	bodyCopied                               = 184

	methodClass, methodDef, methodCalled, methodOwner, methodSize = 8, 16, 24, 32, 40
	defID, defSerial, defSize                                     = 32, 40, 48
)

// Types of objects, in their flags (include/ruby/internal/value_type.h).
const (
	typeMask   = 0x1f
	typeString = 0x05
	typeArray  = 0x07
	typeImemo  = 0x1a

	// Kinds of internal objects (internal/imemo.h).
	imemoShift, imemoMask   = 12, 0xf
	imemoVar, imemoMethod   = 2, 6
	imemoISeq               = 7
	imemoBits               = typeMask | imemoMask<<imemoShift
	flagLong                = 1 << 13 // string: external bytes
	flagShort               = 1 << 13 // array: embedded elements
	shortLenShift, shortLen = 14, 0x1f
)

func imemo(kind uint64) uint64 { return typeImemo | kind<<imemoShift }

func isImemo(flags, kind uint64) bool { return flags&imemoBits == imemo(kind) }

// Flags of frames (vm_core.h).
const (
	magicMask  = 0x7fff0001
	magicCFunc = 0x55550001
	magicIFunc = 0x66660001
	magicDummy = 0x79990001
	flagFinish = 0x20
)

var magics = [...]uint64{0x11110001, 0x22220001, 0x33330001, 0x44440001, magicCFunc, magicIFunc, 0x77770001, 0x78880001,
	magicDummy}

func isMagic(flags uint64) bool { return flags>>32 == 0 && slices.Contains(magics[:], flags&magicMask) }

// jumpLayout has offsets in a tag. The compiler's setjmp saves five words, the C library's 200 bytes, mangled.
type jumpLayout struct {
	pc, prev uint64
	mangled  bool
}

var jumpLayouts = [...]jumpLayout{{pc: 24, prev: 56}, {pc: 72, prev: 216, mangled: true}}
