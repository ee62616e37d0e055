// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// # Waiting coroutines
//
// A waiting coroutine contains its frame, or, before 3.11, points to it. If it was suspended by await, not yield, the
// innermost value of the frame's stack is what it awaits: a coroutine, generator, wrapper, or a future's iterator
// (_PyGen_yf, Objects/genobject.c). From 3.13 on its state distinguishes await; before, the next instruction: RESUME
// with argument 2 or 3, or YIELD_FROM.

// Offsets in bytes.
const (
	genIFrame           = 72 // from 3.12 on
	genIFrame311        = 80
	genFramePtr310      = 16 // address of the frame
	genStateBeforeFrame = 5  // bytes from the state to the frame
	coWrapperCoroutine  = 16 // object in a wrapper

	frameStackTop      = 64 // depth, 3.14 on: end
	frameLocalsPlus    = 72 // 3.11 to 3.13, after the depth's values
	frameValueStack310 = 64 // before 3.11: f_valuestack
	frameStackTop39    = 72 // 3.8, 3.9: f_stacktop, 0 while running
	frameStackDepth310 = 80 // f_stackdepth, negative while running
	coCode310          = 48
)

type coState uint8

const (
	coUnknown     coState = iota
	coNotAwaiting         // created, or suspended by yield
	coSuspended
	coExecuting
	coCleared
)

// coStates and coStates314, up to 3.14, are the states of Include/internal/pycore_frame.h; others are coUnknown.
var (
	coStates    = map[int8]coState{0: coNotAwaiting, 1: coNotAwaiting, 2: coSuspended, 4: coExecuting, 5: coCleared}
	coStates314 = map[int8]coState{-3: coNotAwaiting, -2: coNotAwaiting, -1: coSuspended, 0: coExecuting, 1: coCleared,
		4: coCleared}
)

const (
	maxAwaits = 1 << 12
	yieldFrom = 72 // opcode, to 3.10
	maxName   = 64 // bytes of a type name
)

type coFrame struct {
	state  coState
	code   uint64
	offset int
	awaits uint64
	locals uint64 // address, from 3.11 on
}

// coroutineOf returns the coroutine or generator that an object is or wraps, or 0.
func (in *interpreter) coroutineOf(at uint64) uint64 {
	for range 3 {
		if at == 0 {
			return 0
		}
		typ := in.read64(at + objectType + in.headExtra)
		for _, t := range in.coroutineTypes {
			if t == typ {
				return at
			}
		}
		if typ-in.at+maxData >= 2*maxData { // not a type of the interpreter
			return 0
		}
		switch in.typeName(typ) {
		case "coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "anext_awaitable":
			at = in.read64(at + coWrapperCoroutine + in.headExtra)
		default:
			return 0
		}
	}
	return 0
}

func (in *interpreter) typeName(typ uint64) string {
	name := in.typeFullName(typ)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// typeFullName returns a type's name with its package, "" if it has maxName bytes or more.
func (in *interpreter) typeFullName(typ uint64) string {
	var b [maxName]byte
	n := in.host.Read(in.read64(typ+typeNameAddr+in.headExtra), b[:])
	name, _, ok := strings.Cut(string(b[:n]), "\x00")
	if !ok {
		return ""
	}
	return name
}

func (in *interpreter) frameOf(co uint64) (f coFrame) {
	if in.hasFrameObjects() {
		return in.frameOf310(co)
	}
	at := co + genIFrame + in.headExtra
	if in.minor == 11 {
		at = co + genIFrame311
	}
	var b [genIFrame311 + 104]byte
	head := b[:at-co+frameLocalsPlus+8]
	if in.host.Read(co, head) != len(head) {
		return f
	}
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[int64(at-co)+off:]) }
	states := coStates
	if in.minor < 15 {
		states = coStates314
	}
	f.state = states[int8(b[at-co-genStateBeforeFrame])]
	if f.state == coCleared || b[int64(at-co)+in.frameOwner] != ownedByGenerator {
		return f
	}
	instr := word(in.frameInstr)
	f.locals = at + uint64(in.frameLocals)
	p := in.frame(at, word(in.frameCode), instr, in.word)
	f.code, f.offset = p.code, p.offset
	if f.state != coSuspended || in.minor <= 12 && !in.resumesAwait(instr+2) {
		return f
	}
	top := word(frameStackTop)
	if in.minor <= 13 {
		depth := int64(int32(top))
		if depth <= 0 || depth > 1<<16 {
			return f
		}
		top = at + frameLocalsPlus + 8*uint64(depth)
	}
	if in.minor >= 15 { // an iterator's index is above (SEND, Python/bytecodes.c)
		top -= 8
	}
	f.awaits = in.read64(top-8) & in.frameMask
	return f
}

func (in *interpreter) resumesAwait(instr uint64) bool {
	var b [2]byte
	return in.host.Read(instr, b[:]) == len(b) && b[1]&3 >= 2
}

func (in *interpreter) frameOf310(co uint64) (f coFrame) {
	at := in.read64(co + genFramePtr310)
	if at == 0 {
		f.state = coCleared
		return f
	}
	f.code = in.read64(at + uint64(in.frameCode))
	lasti := int(int32(in.read64(at + uint64(in.frameInstr))))
	top := in.read64(at + frameStackTop39)
	runs := top == 0
	if in.minor == 10 {
		depth := int64(int32(in.read64(at + frameStackDepth310)))
		top, runs = in.read64(at+frameValueStack310)+8*uint64(depth), depth < 0
		if lasti > 0 {
			lasti *= 2
		}
	}
	f.offset, f.state = lasti, coNotAwaiting
	var next [1]byte
	switch {
	case runs:
		f.state = coExecuting
	case lasti < 0:
	case in.host.Read(in.read64(f.code+coCode310)+bytesContent+uint64(lasti)+2, next[:]) == 1 && next[0] == yieldFrom:
		f.state, f.awaits = coSuspended, in.read64(top-8)
	}
	return f
}

// awaiting returns the frames of a coroutine and of those that it awaits, innermost first, the address of the innermost
// one's locals, and the outermost's state, or false if they are inconsistent, as during a change.
func (t *taskReader) awaiting(co uint64) (list []managed.Frame, locals uint64, state coState, ok bool) {
	for n := 0; n < maxAwaits; n++ {
		t.left--
		f := t.r.frameOf(co)
		if n == 0 {
			state = f.state
		}
		switch {
		case f.state == coUnknown, n > 0 && (f.state == coExecuting || f.state == coCleared):
			return nil, 0, coUnknown, false
		case f.state == coCleared:
			return nil, 0, coCleared, true
		}
		c, status := t.codes.resolve(f.code)
		if status != managed.ObjectKnown {
			return nil, 0, coUnknown, false
		}
		list = append(list, c.frame(t.r.minor, f.offset))
		if co = t.r.coroutineOf(f.awaits); co == 0 {
			slices.Reverse(list)
			return list, f.locals, state, true
		}
	}
	return nil, 0, coUnknown, false
}

func (r *Runtime) taskReader() *taskReader {
	t := &taskReader{r: r.python, o: r.python.objects(), threads: r.threads, codes: &r.codes}
	t.threads.readThreads()
	asyncio, greenlets := t.find(), t.findGreenlets()
	if !asyncio && !greenlets {
		return nil
	}
	if !asyncio {
		t.taskType = 0
	}
	for i := range r.threads.list {
		if id := int(r.threads.list[i].native); id != 0 && !slices.Contains(t.tids, id) {
			t.tids = append(t.tids, id)
		}
	}
	return t
}

func (r *Runtime) begin(t *taskReader, w managed.Watch) {
	t.watch = w
	r.codes.view.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: managed.TaskMemory{Reader: r.python.host}})
}

// TaskPlaces implements [managed.Threads].
func (r *Runtime) TaskPlaces() []uint64 {
	if r.followed = r.taskReader(); r.followed == nil {
		return nil
	}
	r.begin(r.followed, nil)
	greenlets := r.listed.Places(func() ([]uint64, bool) { return r.followed.greenletList(recordedTries) })
	return append(r.followed.asyncioTasks(), greenlets...)
}

// TasksAt implements [managed.Threads].
func (r *Runtime) TasksAt(places []uint64, w managed.Watch, yield func(place uint64, t managed.Task, ok bool)) {
	managed.YieldTasks(places, func(place uint64) (task managed.Task, status managed.TaskStatus) {
		if r.followed == nil {
			return task, managed.TaskDone
		}
		r.begin(r.followed, w)
		return r.followed.read(place)
	}, yield)
}
