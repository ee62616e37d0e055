// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	symRuntime          = "_PyRuntime"
	symVersion          = "Py_Version" // from 3.11 on
	symCode             = "PyCode_Type"
	symEvalFrame        = "_PyEval_EvalFrameDefault"
	symEvalFrameCold    = "_PyEval_EvalFrameDefault.cold"
	symEvalFrameColdNth = "_PyEval_EvalFrameDefault.cold.0"
	secRuntime          = ".PyRuntime"
)

// Detect implements [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	if h.Arch() != frames.X86_64 && h.Arch() != frames.ARM64 {
		return nil, nil
	}
	return managed.FirstOf(h, "Python", func(m *frames.Module) (r *Runtime, found bool, err error) {
		if !maybePython(m) {
			return nil, false, nil
		}
		at, size, ok := h.Symbol(m, symRuntime)
		if !ok {
			var content []byte
			if at, content, ok = h.Section(m, secRuntime); !ok {
				return nil, false, nil
			}
			size = uint64(len(content))
		}
		r, err = newRuntime(h, m, managed.Span{Start: at, End: at + size})
		return r, true, err
	})
}

func maybePython(m *frames.Module) bool {
	return m != nil && !m.Generated && m.Name != "" && !strings.HasPrefix(m.Name, "[")
}

const maxListReads = 8

func newRuntime(h managed.Host, m *frames.Module, own managed.Span) (*Runtime, error) {
	r := newParts(&interpreter{module: m, at: own.Start, size: own.End - own.Start, host: h})
	r.python.hidesModule = ownFile.MatchString(path.Base(m.Name))
	codeType, _, ok := h.Symbol(m, symCode)
	if !ok {
		return nil, errors.New("it has no symbol " + symCode)
	}
	r.python.codeType = codeType
	if r.python.read64(codeType+typeSize) == 0 && r.python.read64(codeType+typeSize+headExtraFreeThreaded) == 0 {
		return nil, managed.ErrNotYet
	}
	if err := r.python.findLayout(); err != nil {
		return nil, err
	}
	size := r.python.read64(codeType + typeSize + r.python.headExtra)
	if int64(size) != r.python.codeTypeSize {
		return nil, fmt.Errorf("code objects of %d bytes, of CPython %s are expected %d", size, r.python.version,
			r.python.codeTypeSize)
	}
	if err := r.python.proveMembers(); err != nil {
		return nil, err
	}
	if r.python.hasFrameObjects() {
		r.python.findEvalLoop()
		if len(r.python.evalLoop) == 0 {
			return nil, errors.New("it has no symbol " + symEvalFrame)
		}
	}
	if err := r.proveThreads(); err != nil {
		return nil, err
	}
	r.makePlan()
	r.python.findTypes()
	return r, nil
}

// proveThreads reads the threads, and searches for the interpreter's lock.
func (r *Runtime) proveThreads() error {
	if r.python.read64(r.python.at+uint64(r.python.runtimeInterps)) == 0 {
		return managed.ErrNotYet
	}
	t, read := r.threads, false
	for n := 0; n < maxListReads && !read; n++ { // an ending thread can break the list
		read = t.readThreads()
	}
	noThread := len(t.list) == 0 && (t.head == 0 || t.python.read64(t.head) == 0)
	switch {
	case noThread:
		return managed.ErrNotYet
	case !read:
		return fmt.Errorf("its list of threads is not that of CPython %s", r.python.version)
	case r.python.headExtra == 0 && !r.gil.find() && len(t.list) == 1 && !r.python.runsPython(t.list[0].at):
		return managed.ErrNotYet
	}
	return nil
}

func (in *interpreter) runsPython(state uint64) bool {
	frame := in.read64(state + uint64(in.threadFrame))
	if in.cframe && frame != 0 {
		frame = in.read64(frame + uint64(in.cframeCurrent))
	}
	return frame != 0
}

// findLayout sets layout and version.
func (in *interpreter) findLayout() error {
	at, _, ok := in.host.Symbol(in.module, symVersion)
	if !ok {
		return in.findLayoutByMembers()
	}
	var b [maxDebug]byte
	if in.host.Read(at, b[:4]) != 4 {
		return errors.New("its version cannot be read")
	}
	hex := binary.LittleEndian.Uint32(b[:])
	in.version = fmt.Sprintf("%d.%d.%d", hex>>24, hex>>16&0xff, hex>>8&0xff)
	minor := int(hex >> 16 & 0xff)
	l, known := layouts[minor]
	if minor >= 13 {
		n := in.host.Read(in.at, b[:])
		l, known = layoutOfDebugOffsets(b[:n])
	}
	switch {
	case hex>>24 != 3 || !known && !isFreeThreaded(b[:]):
		newest := slices.Max(slices.Collect(maps.Keys(debugTables)))
		return fmt.Errorf("CPython %s is not known (3.8 to 3.%d are)", in.version, newest)
	case !known:
		return fmt.Errorf("the free-threaded build of CPython %s is not known (those of 3.13 and 3.14 are)",
			in.version)
	}
	in.layout = l
	return nil
}

// findLayoutByMembers is for releases before 3.11, which have no symbol of their version.
func (in *interpreter) findLayoutByMembers() error {
	members := in.members()
	switch name := versionOf(in.module.Name); {
	case members["co_posonlyargcount"] == 0:
		return errors.New("CPython before 3.8 is not known")
	case members["co_linetable"] != 0:
		in.layout, in.version = layouts[10], "3.10"
	case name == "3.9":
		in.layout, in.version = layouts[9], name
	case name != "":
		in.layout, in.version = layouts[8], name
	default:
		in.layout, in.version = layouts[8], "3.8 or 3.9"
		in.interpModules = 0
	}
	return nil
}

var ownFile = regexp.MustCompile(`^(lib)?python\d?(\.\d+)*[a-z]*([-.].*)?$`)

var nameVersion = regexp.MustCompile(`python(3\.\d+)`)

func versionOf(name string) string {
	if m := nameVersion.FindStringSubmatch(path.Base(name)); m != nil {
		return m[1]
	}
	return ""
}

const maxMembers = 40

// members returns the offsets of the code type's members (PyMemberDef, Include/structmember.h).
func (in *interpreter) members() map[string]int64 {
	const size, typ = 40, 8
	all := map[string]int64{}
	at := in.read64(in.codeType + typeMembers + in.headExtra)
	for range maxMembers {
		var def [size]byte
		if at == 0 || in.host.Read(at, def[:]) != size {
			break
		}
		name := binary.LittleEndian.Uint64(def[:])
		if name == 0 {
			break
		}
		var text [32]byte
		n := in.host.Read(name, text[:])
		if s, _, ok := strings.Cut(string(text[:n]), "\x00"); ok {
			all[s] = int64(binary.LittleEndian.Uint64(def[16:]))
		}
		at += size
	}
	return all
}

func (in *interpreter) proveMembers() error {
	members := in.members()
	for name, off := range map[string]int64{
		"co_filename": in.codeFile, "co_name": in.codeName, "co_firstlineno": in.codeFirstLine,
		"co_qualname": in.codeQualname, "co_linetable": in.codeLineTable,
	} {
		if got := members[name]; off != 0 && got != off && (got != 0 || name == "co_name") {
			return fmt.Errorf("%s is at %s, in CPython %s at %d", name, strconv.FormatInt(got, 10), in.version, off)
		}
	}
	return nil
}

func (in *interpreter) findEvalLoop() {
	for _, name := range []string{symEvalFrame, symEvalFrameCold, symEvalFrameColdNth} {
		if at, size, ok := in.host.Symbol(in.module, name); ok && size > 0 {
			in.evalLoop = append(in.evalLoop, managed.Span{Start: at, End: at + size})
		}
	}
}
