// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"strconv"
	"strings"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

// VM is the virtual machine of a process, for one goroutine at a time.
type VM struct {
	host         managed.Host
	analysis     *heuristics.Source // of instructions
	layout       *layout
	cached       readCache
	mem          memory
	buf          [maxEntry]byte
	head         [maxHeader]byte
	heaps        []heap
	blockBytes   uint64          // read of a block
	kinds        map[uint64]kind // by address of the name
	byCode       map[uint64]blob // by start of code; a blank one means that there is none
	byRequest    map[uint64]blob
	codelets     codelets
	proof        proof
	failedProofs int
	// unread: an answer that is not in byCode lacks memory that could not be read.
	unread bool

	nameLayout  *nameLayout // nil until it is read
	java        *javaFrames // nil until frameSource
	version     string
	stubs       stubNames
	senderTries int
	sender      uint8 // on arm64 the register with the caller's sp in an interpreted method; 0 means unknown
}

// UnknownError says why a virtual machine's code is not read.
type UnknownError struct {
	Reason string
	// NotYet reports that the file is still being loaded.
	NotYet bool
}

// Error implements error.
func (e *UnknownError) Error() string {
	return "the Java virtual machine's code is not known: " + e.Reason +
		"; its frames are found by their instructions alone"
}

// New reads the tables of lib, libjvm.so of JDK 8 or later; tested are 8, 11, 17, 21 and 25 to 28. Without
// [managed.Host.CodeAnalysis] most pushes in compiled code go undetected. The error is an [*UnknownError].
func New(h managed.Host, lib *frames.Module) (*VM, error) {
	if h.Arch() != frames.X86_64 && h.Arch() != frames.ARM64 {
		return nil, &UnknownError{Reason: "it is not one for x86-64 or arm64"}
	}
	l, err := readLayout(h, lib)
	if err != nil {
		return nil, err
	}
	v := &VM{
		host: h, analysis: analysisOf(h), layout: l, stubs: stubNames{host: h, lib: lib},
		kinds: map[uint64]kind{}, byCode: map[uint64]blob{}, byRequest: map[uint64]blob{},
	}
	v.cached.process = h
	if g, ok := h.(managed.Gatherer); ok {
		v.cached.readParts = g.ReadParts
	}
	var ok bool
	if v.blockBytes, ok = l.headerSize(); !ok {
		return nil, &UnknownError{Reason: "the header of a piece of code is larger than any known"}
	}
	return v, nil
}

func (v *VM) isARM64() bool { return v.host.Arch() == frames.ARM64 }

// Rule implements [frames.RuleSource].
func (v *VM) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	b, ok := v.find(q.PC)
	if q.AfterCall && !ok {
		b, ok = v.find(q.PC - 1)
	}
	if !ok {
		return frames.Rule{}, nil, false
	}
	if v.isARM64() {
		return v.ruleARM64(&b, &q)
	}
	return v.ruleX86(&b, &q)
}

// Version returns "HotSpot 17.0.15" or "HotSpot 8u412", or "HotSpot" if unknown. JDK 8's own version is 25.
func (v *VM) Version() string {
	if v.version == "" {
		v.version = v.readVersion()
	}
	if v.version == "" {
		return productName
	}
	return productName + " " + v.version
}

const productName = "HotSpot"

func (v *VM) readVersion() string {
	m, l := v.memory(), v.layout
	text := l.staticAddress("Abstract_VM_Version::_s_vm_release")
	if text == 0 {
		return ""
	}
	release, _, _ := strings.Cut(m.name(m.word(text)), "+")
	release, _, _ = strings.Cut(release, "-")
	if strings.Trim(release, "0123456789.") != "" || m.err != nil {
		return ""
	}
	major, update, _ := strings.Cut(release, ".")
	if jdk := l.staticAddress("JDK_Version::_current"); jdk != 0 && major == "25" {
		var b [1]byte
		if m.bytes(jdk+l.offset("JDK_Version::_major"), b[:]); b[0] == 8 {
			update, _, _ = strings.Cut(update, ".")
			if n, err := strconv.Atoi(update); err == nil {
				return fmt.Sprintf("8u%d", n)
			}
			return "8"
		}
	}
	return release
}

func (n *nameLayout) readMajor(m *memory) bool {
	var b [1]byte
	if fields := n.firstComplete(wantRelease); len(fields) == 2 {
		m.bytes(n.staticAddress(fields[0])+n.offset(fields[1]), b[:])
		n.major = int(b[0])
	} else {
		n.major = int(m.int32(n.staticAddress(fields[0])))
	}
	return m.err == nil && n.major >= 8 && n.major <= 99
}
