// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # Virtual threads (JDK 21 on)
//
//	ThreadContainers ─► sets of virtual threads                 threadsets.go
//	VirtualThread    ─► state, carrier thread, object waited for
//	Continuation     ─► StackChunk ─► parent ─► …               stackchunk.go
//
// A thread without a carrier has its whole stack in chunks of the heap. What was read of it is copied again: equal
// bytes (seals.go) without a collection that stops the threads prove that it did not run, and that no object was moved
// between. Concurrent collectors' references are resolved (zgc.go), or lead to the new place (current).

const (
	classVirtual      = "java/lang/VirtualThread"
	classContinuation = "jdk/internal/vm/Continuation"
	classChunk        = "jdk/internal/vm/StackChunk"
)

const (
	maxVirtual    = 1 << 17 // threads of a list
	virtualBatch  = 64      // threads between two looks at collections
	virtualTries  = 4
	virtualPasses = 16
	maxKnown      = 1 << 14 // stacks with names
)

type virtualThreads struct {
	waiters  *waiters
	threads  *threads
	java     *javaFrames
	classes  map[string]uint64
	newest   uint64 // class of the last search
	fields   map[string]uint64
	learnt   bool
	states   map[uint32]string // of VirtualThread's constants
	pcAt     uint64
	stackAt  uint64
	flagsAt  uint64
	lastRead epoch             // of the last reading
	objects  map[uint64]uint64 // by thread's number; 0 means that its address is not known
	ids      []uint64          // the numbers, neighbours in the heap together
	listed   epoch             // of the addresses in objects
	listing  managed.Listing
	seals    map[uint64]seal // by thread's number, of a recording
	lost     int             // sets and links that were not readable, and keys not found
	maps     []keyMap        // of the last reading
	patience time.Duration
	known    map[string]*virtualStack // by Refs
	byFrames map[string]*virtualStack
	refs     []managed.Ref // of one stack
	key      []byte
	untraced bool // the program runs with jdk.trackAllThreads=false

	recording bool // names and what threads wait for are not read
}

// virtualThread is one reading.
type virtualThread struct {
	seal   seal
	chunks []stackChunk
	words  []byte // of all chunks, from the stack pointers on

	id, carrier uint64
	state       uint32
	name        string
	blocker     uint64 // object waited for
	class       string // its class
	owner       int
	ownerTask   uint64
	preempted   bool
}

// field is class + "." + name.
func (v *virtualThreads) field(name string) uint64 { return v.fields[name] }

// stateNames are constants of VirtualThread: whether a thread waits, or is ready to run. The others are transitions, or
// states with a carrier.
var stateNames = map[string]managed.TaskState{
	"PARKED": managed.TaskWaiting, "TIMED_PARKED": managed.TaskWaiting, "BLOCKED": managed.TaskWaiting,
	"WAIT": managed.TaskWaiting, "TIMED_WAIT": managed.TaskWaiting,
	"RUNNABLE": managed.TaskReady, "UNPARKED": managed.TaskReady, "YIELDED": managed.TaskReady,
	"UNBLOCKED": managed.TaskReady, "STARTED": managed.TaskReady,
}

const suspended = 1 << 8 // VirtualThread.SUSPENDED

// begin looks for the classes; it returns false if there are no virtual threads, or the tables lack fields.
func (v *virtualThreads) begin() bool {
	if !v.threads.layout.has(wantClasses) {
		return false
	}
	v.threads.beginQuery(0)
	v.threads.vm.cached.bypass()
	v.patience = listPatience
	known, quiet := false, false
	for try := 0; try < virtualPasses && !quiet; try++ {
		quiet = v.undisturbed(func() {
			known = (v.threads.oops.known || v.waiters.learnOops()) && v.findClasses() && (v.learnt || v.learn())
		})
	}
	v.learnt = v.learnt || quiet && known
	return quiet && known
}

func (v *virtualThreads) learn() bool {
	fields := map[string]uint64{}
	for class, list := range javaFields {
		klass, words := v.classes[class], strings.Fields(list)
		for i := 0; i < len(words) && klass != 0; i += 2 {
			name, optional := strings.CutPrefix(words[i], "?")
			at, ok := v.threads.fieldOffset(klass, name, words[i+1])
			if !ok && !optional {
				return false
			}
			fields[class+"."+name] = at
		}
	}
	v.states = map[uint32]string{}
	mirror := v.mirrorOf(classVirtual)
	for _, name := range slices.Sorted(maps.Keys(stateNames)) {
		if at, has := v.threads.fieldOffset(v.classes[classVirtual], name, "I"); has {
			v.states[uint32(v.numberAt(mirror+at))] = name
		}
	}
	v.fields = fields
	return mirror != 0 && v.learnChunk()
}

// read reads a thread once; it returns false if that is none, has ended, or is not readable.
func (v *virtualThreads) read(object uint64) (t virtualThread, ok bool) {
	v.lost = 0
	object = v.current(object, true)
	if v.threads.klassOf(object, v.threads.oops.header) != v.classes[classVirtual] {
		if object != 0 {
			v.listing = managed.Listing{} // the list is out of date
		}
		return t, false
	}
	t.id = v.wordAt(object + v.field("java/lang/Thread.tid"))
	t.state = uint32(v.numberAt(object+v.field(classVirtual+".state"))) &^ suspended
	t.carrier = v.follow(object + v.field(classVirtual+".carrierThread"))
	if v.lost > 0 || t.carrier != 0 {
		return t, v.lost == 0
	}
	if !v.recording {
		t.name = v.nameOf(object)
		t.blocker = v.follow(object + v.field("java/lang/Thread.parkBlocker"))
	}
	if t.blocker != 0 {
		t.class = v.waiters.classOf(t.blocker)
		t.owner, t.ownerTask = v.waiters.exclusiveOwner(t.blocker)
	}
	cont := v.follow(object + v.field(classVirtual+".cont"))
	if cont == 0 || t.blocker != 0 && t.class == "" {
		return t, false
	}
	return t, v.readChunks(cont, &t) && v.lost == 0
}

// nameOf returns "" for a thread without a name, or with one that is not printable.
func (v *virtualThreads) nameOf(thread uint64) (name string) {
	w := namePath{colours: v.lastRead.colours, str: v.follow(thread + v.field("java/lang/Thread.name"))}
	if w.str == 0 {
		return ""
	}
	if w.text = v.follow(w.str + v.threads.oops.value); !v.threads.isString(w.str) || !v.threads.isText(w.text) {
		v.lost++
		return ""
	}
	name, _ = v.threads.readCharacters(&w)
	return name
}

// readBatch yields the tasks of some threads, by their numbers.
func (v *virtualThreads) readBatch(ids []uint64, yield func(id uint64, t *managed.Task, status managed.TaskStatus)) {
	defer v.threads.vm.cached.bypass()
	left := slices.Clone(ids)
	for try := range virtualTries {
		threads, had := make([]virtualThread, len(left)), make([]bool, len(left))
		quiet := v.onList(func() {
			for i, id := range left {
				threads[i], had[i] = v.readSealed(v.objects[id])
				had[i] = had[i] && threads[i].id == id
			}
			v.threads.vm.cached.reread()
			for i := range threads {
				had[i] = had[i] && v.holds(&threads[i].seal)
			}
		})
		v.java.begin(&managed.Sample{Regs: &frames.Regs{}, At: procmem.Now()})
		var changed []uint64
		for i, id := range left {
			status := managed.TaskChanges
			var t managed.Task
			if quiet && had[i] {
				t, status = v.task(&threads[i])
			}
			if delete(v.seals, id); status == managed.TaskKnown && v.recording {
				v.seals[id] = threads[i].seal
			}
			if status == managed.TaskChanges && try < virtualTries-1 {
				changed = append(changed, id)
				continue
			}
			yield(id, &t, status)
		}
		if left = changed; len(left) == 0 {
			return
		}
	}
}

// task describes a proven reading. TaskUnproven: its stack does not end at the first function.
func (v *virtualThreads) task(r *virtualThread) (t managed.Task, status managed.TaskStatus) {
	t = managed.Task{Family: languages.VirtualThreadTask, ID: r.id, Name: r.name}
	if r.carrier != 0 {
		t.State = managed.TaskRunning
		return t, managed.TaskKnown
	}
	name, known := v.states[r.state]
	if !known {
		return t, managed.TaskChanges
	}
	t.State = stateNames[name]
	if len(r.chunks) == 0 {
		if name != "STARTED" {
			return t, managed.TaskChanges
		}
		return t, managed.TaskKnown
	}
	stack, status := v.stackOf(r)
	switch {
	case status != managed.TaskKnown:
		return t, status
	case !r.preempted && !strings.HasPrefix(stack.frames[0].Function, yieldFunction):
		return t, managed.TaskChanges
	}
	t.Frames, t.Wait, t.Entry = stack.frames, stack.wait, stack.entry
	if t.State == managed.TaskWaiting {
		t.WaitsFor = v.waitOf(r, name, stack)
		t.Awaits = t.WaitsFor.Class
	}
	return t, managed.TaskKnown
}

func (v *virtualThreads) waitOf(r *virtualThread, state string, stack *virtualStack) *managed.WaitAnswer {
	w := &managed.WaitAnswer{Kind: waits.Park, Timed: stack.timed || strings.HasPrefix(state, "TIMED_")}
	switch {
	case state == "BLOCKED":
		w.Kind = waits.Monitor
	case strings.HasSuffix(state, "WAIT"):
		w.Kind = waits.ObjectWait
	case stack.sleeps:
		w.Kind = waits.Sleep
	case stack.polls:
		w.Kind = waits.Descriptor
	case r.blocker != 0:
		w.Address, w.Class, w.Owner, w.OwnerTask = r.blocker, r.class, r.owner, r.ownerTask
	}
	return w
}

// virtualStack is of all threads with equal frames.
type virtualStack struct {
	frames        []managed.Frame
	entry         string // the program's first function
	wait          string // function of the library that the program called
	sleeps, timed bool
	polls         bool // it waits for a descriptor, such as a socket; the JDK's own poller threads count, too
}

func newVirtualStack(list []managed.Frame) *virtualStack {
	s := &virtualStack{frames: list}
	for i := range list {
		if name := list[i].Function; !languages.JavaLibrary(name) {
			s.entry = name
		}
	}
	for i := range list {
		name := list[i].Function
		if !languages.JavaLibrary(name) {
			break
		}
		s.wait = name
		s.sleeps = s.sleeps || strings.HasPrefix(name, "java.lang.Thread.sleep")
		s.timed = s.timed || name == "java.lang.VirtualThread.parkNanos"
		s.polls = s.polls || name == "sun.nio.ch.Poller.poll"
	}
	return s
}

// list is [managed.Threads].Coroutines.
func (v *virtualThreads) list() (list managed.TaskList) {
	if !v.begin() {
		return list
	}
	v.find()
	list.Unlisted, list.Untracked = v.lost, v.untraced
	v.recording = false
	clear(v.seals)
	ids := slices.Sorted(maps.Keys(v.objects))
	list.More = max(len(ids)-maxVirtual, 0)
	ids = ids[:len(ids)-list.More]
	for pass := 0; pass < virtualPasses && len(ids) > 0; pass++ {
		if pass > 0 {
			v.find() // a collection may have moved them
		}
		ids = v.readPass(ids, &list)
	}
	list.Changed, list.Examined = len(ids), true
	slices.SortStableFunc(list.Tasks, func(a, b managed.Task) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// readPass returns the numbers of the threads that changed during each reading.
func (v *virtualThreads) readPass(ids []uint64, list *managed.TaskList) (changed []uint64) {
	for batch := range slices.Chunk(ids, virtualBatch) {
		v.readBatch(batch, func(id uint64, t *managed.Task, status managed.TaskStatus) {
			_, listed := v.objects[id]
			switch {
			case !listed: // a complete list lacks it: it has ended
			case status == managed.TaskChanges:
				changed = append(changed, id)
			case status == managed.TaskUnproven:
				list.Unproven++
			case status == managed.TaskKnown && t.State == managed.TaskRunning:
				list.Mounted++
			case status == managed.TaskKnown:
				list.Tasks = append(list.Tasks, *t)
			}
		})
	}
	return changed
}
