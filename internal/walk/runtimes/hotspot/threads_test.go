// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

func TestAJVMThatIsNotReadHasNoAnswers(t *testing.T) {
	var r Runtime
	if name, ok := r.ThreadName(1); ok {
		t.Errorf("a name: %q", name)
	}
	if role, ok := r.Role(1, "main"); ok {
		t.Errorf("a role: %q", role)
	}
	if answer, ok := r.Waiting(&managed.WaitQuery{InnerTID: 1}); ok {
		t.Errorf("a wait: %+v", answer)
	}
	if out, certainty := r.Symbolize(managed.Ref{}, nil, nil); len(out) != 0 || certainty != managed.Freed {
		t.Errorf("a name of code: %v, %v", out, certainty)
	}
	if r.Postponed() {
		t.Error("an answer is postponed")
	}
}

type threaded struct {
	*named
	n                                                  *javaFrames
	thread, osThread, object, str, text, handle, class uint64
	list, bad                                          uint64
}

const fakeTID = 77

var threadOffsets = map[string]uint64{
	"OSThread::_thread_id": 24, "JavaThread::_threadObj": 16, "JavaThread::_osthread": 8, "Klass::_super": 40,
	"Klass::_layout_helper": 48, "InstanceKlass::_constants": 32, "InstanceKlass::_fields": 56,
	"InstanceKlass::_fieldinfo_stream": 56, "InstanceKlass::_java_fields_count": 16,
	"oopDesc::_metadata._compressed_klass": 8,
	"Array<u2>::_data":                     4, "ThreadsList::_length": 4, "ThreadsList::_threads": 8,
	"CollectedHeap::_is_stw_gc_active":       16,
	"ZGlobalsForVMStructs::_ZAddressBadMask": 8,
}

func newThreaded(t testing.TB, release string) *threaded {
	r := namedReleases[release]
	m := &threaded{named: newNamed(r)}
	code, _, _ := cart(m.named, r)
	v := m.open(t)
	for name, off := range threadOffsets {
		if name != "InstanceKlass::_fieldinfo_stream" || r.major > 20 {
			v.layout.fields[name] = field{offset: off, size: 8, handle: name == "JavaThread::_threadObj"}
		}
	}
	for _, name := range []string{"ThreadsSMRSupport::_java_thread_list", "CompressedOops::_base",
		"CompressedOops::_shift",
		"CompressedKlassPointers::_base", "CompressedKlassPointers::_shift", "ZGlobalsForVMStructs::_instance_p"} {
		v.layout.fields[name] = field{address: m.take(8), size: 8}
	}
	m.list = v.layout.staticAddress("ThreadsSMRSupport::_java_thread_list")
	colours := m.take(16)
	m.bad = m.take(8)
	m.put(v.layout.staticAddress("ZGlobalsForVMStructs::_instance_p"), colours)
	m.put(colours+8, m.bad)
	thread := m.newClass("java/lang/Thread", "Thread.java")
	m.fieldsOf(r, thread, "name", "Ljava/lang/String;", 24)
	below := m.newClass("com/example/Worker", "Worker.java")
	m.put(below.klass+40, thread.klass)
	str := m.newClass("java/lang/String", "String.java")
	m.fieldsOf(r, str, "value", "[B", 12, "coder", "B", 16)
	array := m.newClass("[B", "")
	m.put32(array.klass+48, int32(-1<<30|16<<16|8<<8))
	m.thread, m.osThread, m.handle, m.class = m.take(32), m.take(32), m.take(8), below.klass
	m.object, m.str = m.newObject(below.klass), m.newObject(str.klass)
	m.text = m.newObject(array.klass)
	m.put(m.thread+8, m.osThread)
	m.put(m.thread+16, m.handle)
	m.put(m.handle, m.object)
	m.put32(m.osThread+24, fakeTID)
	m.put32(m.object+24, int32(m.str))
	m.put32(m.str+12, int32(m.text))
	m.call("http-nio-8080-exec-request", 0)
	all, list := m.take(16), m.take(16)
	m.put(all, 0)
	m.put(all+8, m.thread)
	m.put32(list+4, 2)
	m.put(list+8, all)
	m.put(m.list, list)
	m.n = v.frameSource()
	v.heapOf(code)
	m.n.readFirstMoment(code)
	return m
}

func (t *threaded) newObject(klass uint64) uint64 {
	at := t.take(600)
	t.put(at, 1)
	t.put32(at+8, int32(klass))
	return at
}

func (t *threaded) call(name string, coder byte) {
	t.put32(t.text+12, int32(len(name)))
	t.mem[t.str+16] = coder
	copy(t.mem[t.text+16:], name)
}

func (t *threaded) fieldsOf(r namedRelease, c class, what ...any) {
	count := len(what) / 3
	at := t.take(uint64(4 + 64*count))
	t.put(c.klass+32, c.constants)
	t.put(c.klass+56, at)
	t.put16(c.klass+16, uint16(count))
	stream := number5(1, byte(count), 0)
	for i := range count {
		name, typ, off := what[3*i].(string), what[3*i+1].(string), what[3*i+2].(int)
		index := 2 + 2*i
		t.setConstant(c, index, name)
		t.setConstant(c, index+1, typ)
		tuple := at + 4 + uint64(12*i)
		t.put16(tuple+2, uint16(index))
		t.put16(tuple+4, uint16(index+1))
		t.put16(tuple+8, uint16(off<<2|1))
		stream = append(stream, number5(1, byte(index), byte(index+1), byte(off), 2, fieldGeneric, 9)...)
	}
	t.put32(at, int32(6*count))
	if r.major > 20 {
		copy(t.mem[at+4:], stream)
		t.put32(at, int32(len(stream)))
	}
}

const fakeThread = "http-nio-8080-exec-request"

func TestThreadNamesAreThoseOfTheThreadObjects(t *testing.T) {
	for _, release := range []string{"JDK 17", "JDK 25"} {
		m := newThreaded(t, release)
		if name, ok := m.n.threadName(fakeTID); name != fakeThread || !ok {
			t.Errorf("%s: %q, %v", release, name, ok)
		}
		if name, ok := m.n.threadName(fakeTID + 1); ok {
			t.Errorf("%s: a thread that is not there is called %q", release, name)
		}
		m.call("\xfcn\xef", 0)
		if name, _ := m.n.threadName(fakeTID); name != "ünï" {
			t.Errorf("%s: Latin 1 as %q", release, name)
		}
		m.call("\xac\x20\x3d\xd8\x00\xde", 1)
		if name, _ := m.n.threadName(fakeTID); name != "€😀" {
			t.Errorf("%s: UTF-16 as %q", release, name)
		}
	}
}

func TestUnprovenThreadNamesAreRejected(t *testing.T) {
	for what, c := range map[string]struct {
		spoil func(*threaded)
		stays bool
	}{
		"an object that was moved":        {func(m *threaded) { m.put(m.object, 0x1003) }, true},
		"an object of another class":      {func(m *threaded) { m.put(m.class+40, 0) }, true},
		"a collection":                    {func(m *threaded) { m.mem[collectedHeapOf(m)+16] = 1 }, true},
		"a reference that may be stale":   {func(m *threaded) { m.put(m.bad, 1<<18-1) }, true},
		"a string that is none":           {func(m *threaded) { m.put32(m.object+24, int32(m.object)) }, true},
		"text that is none":               {func(m *threaded) { m.put32(m.str+12, int32(m.str)) }, true},
		"no text":                         {func(m *threaded) { m.put32(m.text+12, 0) }, true},
		"long text":                       {func(m *threaded) { m.put32(m.text+12, 1<<20) }, true},
		"what cannot be printed":          {func(m *threaded) { m.mem[m.text+16] = 7 }, true},
		"half a character":                {func(m *threaded) { m.call("\x3d\xd8", 1) }, true},
		"a coding that there is not":      {func(m *threaded) { m.mem[m.str+16] = 2 }, true},
		"no object":                       {func(m *threaded) { m.put(m.handle, 0) }, true},
		"a thread of another number":      {func(m *threaded) { m.put32(m.osThread+24, 78) }, false},
		"a thread whose memory is no one": {func(m *threaded) { m.put(m.thread+8, 0) }, false},
	} {
		fresh := newThreaded(t, "JDK 17")
		c.spoil(fresh)
		if name, ok := fresh.n.threadName(fakeTID); ok {
			t.Errorf("%s: called %q", what, name)
		}
		known := newThreaded(t, "JDK 17")
		known.n.threadName(fakeTID)
		c.spoil(known)
		if name, ok := known.n.threadName(fakeTID); ok != c.stays || ok && name != fakeThread {
			t.Errorf("%s, later: %q, %v", what, name, ok)
		}
	}
}

// malloc reuses the address of a freed list.
func TestThreadInALaterListAtTheSameAddressIsFound(t *testing.T) {
	m := newThreaded(t, "JDK 17")
	const later, none = fakeTID + 1, fakeTID + 2
	reads, read := 0, m.n.vm.host.Read
	m.n.vm.readBy(func(addr uint64, b []byte) int {
		if addr == m.osThread+24 {
			reads++
		}
		return read(addr, b)
	})
	ask := func(tid int) (string, bool) {
		m.n.threads.listReadAt = 0 // the list may be read again
		return m.n.threadName(tid)
	}
	ask(fakeTID)
	m.put32(m.osThread+24, later)
	if name, ok := ask(later); !ok || name != fakeThread {
		t.Errorf("%q, %v; want the name of the thread in the later list", name, ok)
	}
	ask(none)
	reads = 0
	for range 10 {
		if name, ok := ask(none); ok {
			t.Errorf("a thread that is not listed is %q", name)
		}
	}
	if reads != 0 {
		t.Errorf("the same list is read again %d times for a thread that it does not have", reads)
	}
}

func collectedHeapOf(m *threaded) uint64 {
	return binary.LittleEndian.Uint64(m.mem[m.n.vm.layout.staticAddress("Universe::_collectedHeap"):])
}

func TestNamesThatChangeWhileReadAreRejected(t *testing.T) {
	m := newThreaded(t, "JDK 17")
	m.n.threadName(fakeTID)
	read, reads := m.n.vm.host.Read, 0
	m.n.vm.readBy(func(addr uint64, b []byte) int {
		if text := m.text + 16; addr <= text && text < addr+uint64(len(b)) {
			reads++
			m.mem[text] = byte('a' + reads)
		}
		return read(addr, b)
	})
	if name, _ := m.n.threadName(fakeTID); name != fakeThread || reads != 2 {
		t.Errorf("%q after %d reads", name, reads)
	}
}

func TestFieldsAreReadAsTheReleaseHasThem(t *testing.T) {
	flags := map[int][2]byte{27: {1, 8}, 28: {8, 64}}
	for major, f := range flags {
		b := number5(1, 2, 0, 15, 16, 120, 26, f[0], 18, 11, 12, 8, 130, f[1])
		var got []fieldInfo
		eachFieldInfo(b, 1, major, func(i fieldInfo) bool {
			got = append(got, i)
			return true
		})
		if len(got) != 2 || got[0] != (fieldInfo{15, 16, 120, false}) || got[1] != (fieldInfo{11, 12, 8, false}) {
			t.Errorf("JDK %d: %v", major, got)
		}
	}
	count := 0
	eachFieldInfo(number5(1, 2, 0, 15, 16, 120, 26, 2, 18, 11, 12, 8, 130, 64), 1, 28, func(fieldInfo) bool {
		count++
		return true
	})
	if count != 1 {
		t.Errorf("%d fields after one that is not known", count)
	}
}

func FuzzHostileThreads(f *testing.F) {
	f.Add(uint32(classesAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, true)
	f.Add(uint32(collectedAt), []byte{255, 255, 255, 255, 255, 255, 255, 255}, false)
	f.Fuzz(func(t *testing.T, at uint32, b []byte, late bool) {
		m := newThreaded(t, map[bool]string{true: "JDK 25", false: "JDK 17"}[late])
		if uint64(at) < uint64(len(m.mem)) && uint64(at) >= collectedAt {
			copy(m.mem[at:], b)
		}
		if name, ok := m.n.threadName(fakeTID); ok && name == "" {
			t.Error("an empty name")
		}
		eachFieldInfo(b, 1, 27, func(fieldInfo) bool { return true })
		eachFieldInfo(b, 1, 28, func(fieldInfo) bool { return true })
		eachFieldTuple(b, 0, 17, func(fieldInfo) bool { return true })
		characters(b, late)
	})
}

func TestApplicationThreadNamedLikeACollectorStaysApplication(t *testing.T) {
	m := newThreaded(t, "JDK 17")
	m.call("GC Thread#0", 0)
	name, _ := m.n.threadName(fakeTID)
	if role, ok := m.n.role(fakeTID, name); !ok || role != languages.RoleApplication {
		t.Errorf("%q: %q, %v", name, role, ok)
	}
	for name, want := range map[string]string{"GC Thread#0": languages.RoleGC, "VM Thread": languages.RoleMachine} {
		if role, ok := m.n.role(fakeTID+1, name); !ok || role != want {
			t.Errorf("%q: %q, %v", name, role, ok)
		}
	}
	if role, ok := m.n.role(fakeTID, "C2 CompilerThread0"); !ok || role != languages.RoleCompiler {
		t.Errorf("a compiler: %q, %v", role, ok)
	}
	m.n.vm.nameLayout = nil
	if role, ok := m.n.role(fakeTID, name); ok {
		t.Errorf("%q is told before the machine is known", role)
	}
}
