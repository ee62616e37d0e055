// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// threadNames has the names that the threading module gives threads.
type threadNames struct {
	names  map[uint64]string // by the kernel's numbers
	named  int64             // when all were read, CLOCK_MONOTONIC in nanoseconds
	sought int64             // when those of threads without one were read, or all
	active uint64            // threading._active: the dict of threads by pthread_self

	dictType, textType, moduleType, numberType uint64

	coTypes [3]uint64 // of coroutines, generators, asynchronous generators
}

var _ managed.ThreadNamer = (*Runtime)(nil)

// namesAgain is how long a reading of the names is good for, in nanoseconds. For a thread that it has not got, those
// that it has not got are read after [readAgain]: a server with a thread for each request asks all the time.
const namesAgain = 500e6

// findTypes finds the types of the objects that names are read from. One that is missing is no object's.
func (r *Runtime) findTypes(h managed.Host) {
	r.dictType, _, _ = h.Symbol(r.module, "PyDict_Type")
	r.textType, _, _ = h.Symbol(r.module, "PyUnicode_Type")
	r.moduleType, _, _ = h.Symbol(r.module, "PyModule_Type")
	r.numberType, _, _ = h.Symbol(r.module, "PyLong_Type")
	for i, name := range []string{"PyCoro_Type", "PyGen_Type", "PyAsyncGen_Type"} {
		r.coTypes[i], _, _ = h.Symbol(r.module, name)
	}
}

// forgetNames drops what is remembered of names.
func (r *Runtime) forgetNames() { r.names, r.named, r.sought, r.active = nil, 0, 0, 0 }

// ThreadName implements [managed.ThreadNamer]: the name that the program's threading module has.
func (r *Runtime) ThreadName(tid int) (string, bool) {
	name, ok := r.names[uint64(tid)]
	all := procmem.Now()-r.named >= namesAgain
	if !all && (ok || procmem.Now()-r.sought < readAgain) {
		return name, ok
	}
	if all {
		r.names = map[uint64]string{}
	}
	r.readNames()
	if r.sought = procmem.Now(); all {
		r.named = r.sought
	}
	name, ok = r.names[uint64(tid)]
	return name, ok
}

// readNames reads the names of the threads that have none. The objects that say them change while the program runs. So
// they are read twice, between two readings of the list of threads, and what is not the same in both is left out.
func (r *Runtime) readNames() {
	if !r.readThreads() {
		return
	}
	before, wanted := map[uint64]uint64{}, map[uint64]bool{}
	for i := range r.threads.list {
		th := &r.threads.list[i]
		before[th.native] = th.id
		if r.names[th.native] == "" {
			wanted[th.id] = true
		}
	}
	first, again := r.namesByID(wanted), r.namesByID(wanted)
	if !r.readThreads() {
		return
	}
	for i := range r.threads.list {
		th := &r.threads.list[i]
		if name := first[th.id]; name != "" && again[th.id] == name && th.native != 0 && before[th.native] == th.id {
			r.names[th.native] = name
		}
	}
}

// namesByID reads the names of some threads once, by pthread_self.
func (r *Runtime) namesByID(wanted map[uint64]bool) map[uint64]string {
	o := r.objects()
	if !o.is(r.active, r.dictType) {
		r.active = r.findActive(o)
	}
	names := map[uint64]string{}
	for _, e := range o.entries(r.active) {
		if e.value == 0 || e.hash == 0 || !wanted[e.hash] {
			continue
		}
		if name, ok := o.text(o.attribute(e.value, "_name")); ok {
			names[e.hash] = name
		}
	}
	return names
}

// findActive finds the dict of threads: sys.modules["threading"]._active of the main interpreter; 0 if there is none.
func (r *Runtime) findActive(o *objects) uint64 {
	threading := o.get(o.entries(r.modules()), "threading")
	if !o.is(threading, r.moduleType) {
		return 0
	}
	active := o.get(o.entries(r.read64(threading+moduleDict+r.wider)), "_active")
	if !o.is(active, r.dictType) {
		return 0
	}
	return active
}
