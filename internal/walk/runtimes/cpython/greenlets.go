// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Waiting greenlets
//
// Greenlets are objects of the type greenlet.greenlet or of a derived one, among all that the collector tracks
// (tracked.go). The object, from greenlet 2 on what its pimpl leads to (src/greenlet/TGreenlet.hpp), has the innermost
// frame object of a suspended greenlet. It is found as the only word there that leads to a frame object. Greenlets that
// run, have not begun or have ended have none.
//
// Frames follow as on a thread. From 3.12 on records of the C stack are between them, which other greenlets overwrite:
// greenlet leaves these out of the chain (from 3.0.3 on, expose_frames), and gives each frame a frame object, which
// leads back to it. A frame without is not proven.

const (
	greenletPimpl     = 32
	greenletPimplSize = 40  // tp_basicsize with a pimpl
	greenletBytes     = 160 // less than any greenlet has
	frameObjectFrame  = 24  // from 3.11 on
	frameOfObject     = 48  // from 3.12 on: frame_obj
	maxGreenletFrames = 1 << 12
	listTries         = 64 // within maxListing
	recordedTries     = 4
)

type greenlets struct {
	base    uint64 // the type; 0 means none
	inPimpl bool
	types   map[uint64]bool
	topAt   uint64 // offset of the innermost frame; 0 means unknown
}

func (t *taskReader) findGreenlets() bool {
	modules := t.o.entries(t.threads.modules())
	for _, name := range []string{"greenlet._greenlet", "greenlet"} {
		module := t.o.get(modules, name)
		if !t.o.is(module, t.r.moduleType) || t.r.headExtra != 0 {
			continue
		}
		base := t.o.get(t.o.entries(t.r.read64(module+moduleDict)), "greenlet")
		if base != 0 && t.r.frameType != 0 {
			t.greenlets = greenlets{base: base, inPimpl: t.r.read64(base+typeSize) == greenletPimplSize,
				types: map[uint64]bool{}}
			return true
		}
	}
	return false
}

func (t *taskReader) isGreenletType(typ uint64) bool {
	g := &t.greenlets
	is, known := g.types[typ]
	if !known && g.base != 0 {
		is = t.derives(typ, g.base)
		g.types[typ] = is
	}
	return is
}

// greenletList returns all greenlets; whole means that in one of the tries the collector's lists did not change.
func (t *taskReader) greenletList(tries int) (list []uint64, whole bool) {
	if t.greenlets.base == 0 {
		return nil, true
	}
	found := map[uint64]bool{}
	end := procmem.Now() + maxListing
	for try, again := 0, true; try < tries && again && !whole && procmem.Now() < end; try++ {
		again = false
		whole = t.r.tracked(end, func(object, typ uint64) {
			again = true
			if t.isGreenletType(typ) && !found[object] && len(list) < maxListed {
				list, found[object] = append(list, object), true
			}
		})
	}
	return list, whole
}

func (t *taskReader) topFrame(greenlet uint64) uint64 {
	if t.greenlets.inPimpl {
		greenlet = t.r.read64(greenlet + greenletPimpl)
	}
	if at := t.greenlets.topAt; at != 0 {
		return t.r.read64(greenlet + at)
	}
	var b [greenletBytes]byte
	var frame, at uint64
	n := t.r.host.Read(greenlet, b[:])
	for i := 0; i+8 <= n; i += 8 {
		if v := binary.LittleEndian.Uint64(b[i:]); v%8 == 0 && v >= 1<<12 && t.o.is(v, t.r.frameType) {
			if frame != 0 {
				return 0
			}
			frame, at = v, uint64(i)
		}
	}
	t.greenlets.topAt = at
	return frame
}

func (t *taskReader) readGreenlet(at uint64) (task managed.Task, status managed.TaskStatus) {
	frame := t.topFrame(at)
	if frame == 0 {
		return task, managed.TaskDone
	}
	class := t.r.typeName(t.r.read64(at + objectType))
	task = managed.Task{Name: class, ID: at, Family: languages.GreenletTask}
	task.Frames, status = t.suspended(frame)
	if again := t.topFrame(at); again != frame {
		return task, managed.TaskChanges
	}
	task.Wait = greenletWait(task.Frames)
	return task, status
}

// suspended returns the frames of a suspended greenlet from a frame object on, innermost first.
func (t *taskReader) suspended(object uint64) (list []managed.Frame, status managed.TaskStatus) {
	r := t.r
	if !t.o.is(object, r.frameType) {
		return nil, managed.TaskChanges
	}
	at := object
	if !r.hasFrameObjects() {
		at = r.read64(object + frameObjectFrame)
	}
	for n := 0; at != 0; n++ {
		t.left--
		if n == maxGreenletFrames || r.minor >= 12 && r.read64(r.read64(at+frameOfObject)+frameObjectFrame) != at {
			return nil, managed.TaskUnproven
		}
		instr := r.read64(at + uint64(r.frameInstr))
		f := r.frame(at, r.read64(at+uint64(r.frameCode)), instr, r.word)
		if r.hasFrameObjects() {
			f.offset = r.lastInstruction(instr)
		}
		c, known := t.codes.resolve(f.code)
		if known != managed.ObjectKnown {
			return nil, managed.TaskChanges
		}
		if !c.shim {
			list = append(list, c.frame(r.minor, f.offset))
		}
		at = r.read64(at + uint64(r.framePrev))
	}
	return list, managed.TaskKnown
}

// greenletLibraries are the folders of libraries with an event loop, whose functions switch to it.
var greenletLibraries = [][]string{{"gevent"}, {"eventlet", "eventlet/green", "eventlet/greenio", "eventlet/hubs"}}

// greenletWait names the library's function that the program called, as "gevent.sleep". The outermost one was called by
// greenlet.
func greenletWait(stack []managed.Frame) string {
	stack = stack[:max(len(stack)-1, min(len(stack), 1))]
	for _, folders := range greenletLibraries {
		if called := calledIn(stack, folders...); called != "" {
			return folders[0] + "." + called
		}
	}
	return "greenlet.switch"
}

// calledIn returns the outermost function of the innermost ones in a library's folders, rather a public one, or "".
func calledIn(stack []managed.Frame, folders ...string) (called string) {
	for i := range stack {
		in := func(folder string) bool { return strings.HasSuffix(path.Dir(stack[i].File), "/"+folder) }
		if !slices.ContainsFunc(folders, in) {
			break
		}
		name := stack[i].Function
		if called == "" || !strings.HasPrefix(name[strings.LastIndexByte(name, '.')+1:], "_") {
			called = name
		}
	}
	return called
}

// greenletFirst never return (greenlet 3 and 2, src/greenlet/TUserGreenlet.cpp); the stack above is another greenlet's.
var greenletFirst = []string{
	"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
	"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_greenletXadL_ZNS1_15GreenletChecker" +
		"EPvEEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_11NoOpCheckerES4_EEEE",
}

const greenletFile = "_greenlet."

// greenletEntries are the functions that a greenlet begins in, by [frames.ModuleAddr].
type greenletEntries []managed.Span

// Rule implements [frames.RuleSource].
func (e greenletEntries) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	at := q.PC
	if q.AfterCall {
		at--
	}
	for _, s := range e {
		if s.Has(at) {
			return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
		}
	}
	return frames.Rule{}, nil, false
}

func endGreenlets(h managed.Host) {
	for _, m := range h.Modules() {
		if !maybePython(m) || !strings.HasPrefix(path.Base(m.Name), greenletFile) || endsGreenlets(m) {
			continue
		}
		var ends greenletEntries
		for _, s := range h.OwnSymbols(m, greenletFirst...) {
			if s.Function && s.Size > 0 {
				ends = append(ends, managed.Span{Start: s.Addr - m.Bias, End: s.Addr - m.Bias + s.Size})
			}
		}
		if len(ends) > 0 {
			m.Sources = append([]frames.RuleSource{ends}, m.Sources...)
		}
	}
}

func endsGreenlets(m *frames.Module) bool {
	if len(m.Sources) == 0 {
		return false
	}
	_, is := m.Sources[0].(greenletEntries)
	return is
}
