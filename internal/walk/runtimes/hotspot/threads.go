// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"slices"
	"time"

	"prywalk/internal/base/cache"
	"prywalk/internal/base/languages"
	"prywalk/internal/host/procmem"
)

// A listed thread leads to its kernel id and java.lang.Thread (threadnames.go).

var wantThread = []string{
	"OSThread::_thread_id", "JavaThread::_threadObj", "Klass::_super", "Klass::_layout_helper",
	"InstanceKlass::_constants", "Array<u2>::_data", "oopDesc::_metadata._compressed_klass", "JavaThread::_osthread",
	"CollectedHeap::_is_stw_gc_active",
}

// Bases and shifts.
var (
	wantOops    = []string{"CompressedOops::_base", "CompressedOops::_shift"}
	wantKlasses = []string{"CompressedKlassPointers::_base", "CompressedKlassPointers::_shift"}
)

var (
	wantThreadList = [][]string{
		{"ThreadsSMRSupport::_java_thread_list", "ThreadsList::_length", "ThreadsList::_threads"}, // since 10
		{"Threads::_thread_list", "JavaThread::_next"},
	}
	wantFieldInfo = [][]string{
		{"InstanceKlass::_fieldinfo_stream"}, // since 21
		{"InstanceKlass::_fields", "InstanceKlass::_java_fields_count"},
	}
)

var wantThreads = slices.Concat([][]string{wantThread, wantOops, wantKlasses}, wantThreadList, wantFieldInfo,
	wantColours)

type threadLayout struct {
	*layout
	list, fieldInfo []string
	owner           []string // of wantOwner; nil means none
	names, waits    bool     // it has the fields that names and waits need
}

func (l *layout) threadLayout() *threadLayout {
	t := &threadLayout{
		layout: l, list: l.firstComplete(wantThreadList), fieldInfo: l.firstComplete(wantFieldInfo),
		owner: l.firstComplete(wantOwner),
	}
	t.names = l.has(wantThread) && l.has(wantOops) && l.has(wantKlasses) && t.list != nil && t.fieldInfo != nil
	t.waits = t.names && l.has(wantMonitor) && l.has(wantPending)
	return t
}

const (
	maxThreads = 1 << 16
	listEvery  = int64(100 * time.Millisecond) // between reads
)

type threads struct {
	vm          *VM
	methods     *methodNames
	layout      *threadLayout // nil until it is chosen
	list        uint64
	listReadAt  int64 // in nanoseconds of CLOCK_MONOTONIC
	byTID       map[int]threadID
	absent      map[int]bool // not in the list
	lastNames   map[int]provenName
	oops        oops
	forwardings forwardings
	// postponed: a requested name could not be proven.
	postponed bool
	buf       [8 * 128]byte
	// noPause: no collection stopped the threads at the query's start.
	collected int32
	noPause   bool
}

type provenName struct {
	id   threadID
	name string
}

// threadID identifies a thread; addresses and ids are reused.
type threadID struct {
	thread, osThread, object uint64
	tid                      int
}

func (j *javaFrames) threadName(tid int) (name string, ok bool) {
	if !j.threadsReady() {
		return "", false
	}
	return j.threads.name(tid)
}

// role is by the list of the last name query. A listed thread with a collector's name is the program's. The JVM's own
// Java threads are recognized by name.
func (j *javaFrames) role(tid int, name string) (string, bool) {
	if !j.threadsReady() {
		return "", false
	}
	role := languages.JVMThread(name)
	if _, java := j.threads.byTID[tid]; java && role == languages.RoleGC {
		role = languages.RoleApplication
	}
	return role, true
}

func (j *javaFrames) threadsReady() bool {
	if j == nil || j.vm.nameLayout == nil {
		return false
	}
	t := &j.threads
	if t.layout == nil {
		t.byTID, t.absent, t.lastNames = map[int]threadID{}, map[int]bool{}, map[int]provenName{}
		t.layout = j.vm.layout.threadLayout()
	}
	return t.layout.names
}

// name returns the proven name, or the last proven one.
func (t *threads) name(tid int) (string, bool) {
	known, ok := t.beginQuery(tid)
	defer t.vm.cached.bypass()
	if !ok {
		delete(t.lastNames, tid)
		return "", false
	}
	id, ok := t.identify(known.thread)
	if !ok || id.tid != tid {
		delete(t.lastNames, tid)
		return "", false
	}
	if name, ok := t.proveName(id); ok {
		cache.Put(&t.lastNames, maxThreads, tid, provenName{id, name})
		return name, true
	}
	t.postponed = true
	last := t.lastNames[tid]
	return last.name, last.id == id
}

// beginQuery returns the listed thread with a kernel id, or false if it is not in the list. Reads go through the cache
// until the caller's bypass.
func (t *threads) beginQuery(tid int) (id threadID, ok bool) {
	t.vm.cached.bypass()
	t.refreshList(tid)
	t.collected, t.noPause = t.readCollections() // before anything that a collection may move
	t.vm.cached.reread()
	id, ok = t.byTID[tid]
	t.vm.cached.begin(0)
	return id, ok
}

// refreshList reads the list at most every listEvery, if it is another one or tid was not looked up in it: a later
// list can have a freed one's address.
func (t *threads) refreshList(tid int) {
	now := procmem.Now()
	if t.listReadAt != 0 && now-t.listReadAt < listEvery {
		return
	}
	m := t.vm.memory()
	head := m.word(t.layout.staticAddress(t.layout.list[0]))
	apart := len(t.layout.list) == 3
	_, known := t.byTID[tid]
	if m.err != nil || apart && head == t.list && (known || t.absent[tid]) {
		return
	}
	if head != t.list {
		clear(t.absent)
	}
	t.listReadAt, t.list = now, head
	clear(t.byTID)
	if apart {
		t.readList(head)
		if _, known := t.byTID[tid]; !known {
			cache.Put(&t.absent, maxThreads, tid, true)
		}
		return
	}
	next := t.layout.offset(t.layout.list[1])
	for i := 0; i < maxThreads && head != 0; i++ {
		t.add(head)
		head = t.vm.memory().word(head + next)
	}
}

// readList reads a ThreadsList, which the JVM replaces when threads start or end.
func (t *threads) readList(list uint64) {
	m := t.vm.memory()
	count := uint64(uint32(m.int32(list + t.layout.offset(t.layout.list[1]))))
	at := m.word(list + t.layout.offset(t.layout.list[2]))
	if m.err != nil || count > maxThreads {
		t.list = 0
		return
	}
	for done := uint64(0); done < count; {
		b := t.buf[:min(8*(count-done), uint64(len(t.buf)))]
		if !t.vm.memory().bytes(at+8*done, b) {
			t.list = 0
			return
		}
		for i := 0; i < len(b); i += 8 {
			t.add(wordAt(b[i:]))
		}
		done += uint64(len(b)) / 8
	}
}

func (t *threads) add(thread uint64) {
	if id, ok := t.identify(thread); ok {
		t.byTID[id.tid] = id
	}
}

func (t *threads) identify(thread uint64) (id threadID, ok bool) {
	m := t.vm.memory()
	m.expect("JavaThread", thread)
	id.thread, id.osThread = thread, m.word(thread+t.layout.offset("JavaThread::_osthread"))
	id.object = m.word(thread + t.layout.offset("JavaThread::_threadObj"))
	m.expect("OSThread", id.osThread)
	id.tid = int(m.int32(id.osThread + t.layout.offset("OSThread::_thread_id")))
	return id, m.err == nil && id.tid > 0
}
