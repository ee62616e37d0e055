// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"maps"
	"runtime"
	"slices"
	"testing"
)

// fakeSet is a set of three virtual threads, with the numbers 1 to 3.
type fakeSet struct {
	*threaded
	v                   *virtualThreads
	at, table, complete uint64 // the map; a table without thread 3, and one with all
}

func newFakeSet(t *testing.T) *fakeSet {
	f := &fakeSet{threaded: newThreaded(t, "JDK 17")}
	if _, ok := f.n.threadName(fakeTID); !ok {
		t.Fatal("the fake has no thread")
	}
	fields := f.n.vm.layout.fields
	fields["Klass::_java_mirror"] = field{offset: 8, size: 8}
	f.v = &virtualThreads{waiters: &f.n.waiters, threads: f.n.waiters.threads, java: f.n, fields: map[string]uint64{
		classTracking + ".VTHREADS": 16, classContainers + ".CONTAINER_REGISTRY": 24, classMap + "$CollectionView.map": 12,
		classMap + ".table": 16, classMap + ".nextTable": 20, classMap + ".baseCount": 24, classMap + ".counterCells": 32,
		classMap + "$CounterCell.value": 16, classMap + "$Node.key": 16, classMap + "$Node.next": 20,
		"java/lang/Thread.tid": 32,
	}}
	array := f.newClass("[Ljava/lang/Object;", "")
	f.put32(array.klass+48, int32(-1<<31|16<<16))
	f.v.classes = map[string]uint64{classVirtual: f.class, classTracking: f.take(16), classContainers: f.take(16)}
	mirror, view := f.newObject(f.class), f.newObject(f.class)
	f.put(f.v.classes[classTracking]+8, mirror)
	f.put(f.v.classes[classContainers]+8, f.newObject(f.class))
	f.at, f.table, f.complete = f.newObject(f.class), f.newObject(array.klass), f.newObject(array.klass)
	f.put32(mirror+16, int32(view))
	f.put32(view+12, int32(f.at))
	for i := range uint64(3) {
		thread, node := f.newObject(f.class), f.newObject(f.class)
		f.put(thread+32, i+1)
		f.put32(node+16, int32(thread))
		if f.put32(f.complete+16+4*i, int32(node)); i < 2 {
			f.put32(f.table+16+4*i, int32(node))
		}
	}
	f.put32(f.table+12, 3)
	f.put32(f.complete+12, 3)
	cells, cell := f.newObject(array.klass), f.newObject(f.class)
	f.put32(cells+12, 1)
	f.put32(cells+16, int32(cell))
	f.put(cell+16, 1)
	f.put32(f.at+16, int32(f.table))
	f.put(f.at+24, 2)
	f.put32(f.at+32, int32(cells))
	return f
}

// onFirstUncached calls change before the first read of a word of the map that is not through the cache.
func (f *fakeSet) onFirstUncached(change func()) {
	f.n.vm.readBy(func(addr uint64, b []byte) int {
		if addr == f.at+16 && len(b) == 4 && change != nil {
			change()
			change = nil
		}
		return f.read(addr, b)
	})
}

func TestThreadsThatTheMapCountsAndTheTableLacksAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fakeSet)
		want   []uint64
		lost   int
	}{
		{"as the map counts", func(f *fakeSet) { f.put(f.at+24, 1) }, []uint64{1, 2}, 0},
		{"the table lacks one", func(*fakeSet) {}, []uint64{1, 2}, 1},
		{"the map grew, and the old table lacks one", func(f *fakeSet) {
			f.put32(f.at+16, int32(f.complete))
		}, []uint64{1, 2, 3}, 0},
		{"the map grows", func(f *fakeSet) { f.put32(f.at+20, int32(f.complete)) }, []uint64{1, 2, 3}, 0},
		{"the table is unreadable", func(f *fakeSet) { f.put32(f.at+16, 3) }, []uint64{1, 2}, 1},
	} {
		f := newFakeSet(t)
		f.onFirstUncached(func() { c.change(f) })
		f.v.find()
		if got := slices.Sorted(maps.Keys(f.v.objects)); !slices.Equal(got, c.want) || f.v.lost == 0 != (c.lost == 0) {
			t.Errorf("%s: threads %v and %d lost, want %v and %d", c.name, got, f.v.lost, c.want, c.lost)
		}
	}
}

func TestAListOfMoreKeysThanAreReadIsIncomplete(t *testing.T) {
	f := newFakeSet(t)
	node := f.word(f.table+16) & 0xffffffff
	f.put32(node+20, int32(node)) // a chain without end
	const bins = 2*maxVirtual/maxChain + 4
	table := f.take(16 + 4*bins)
	copy(f.mem[table:table+16], f.mem[f.table:])
	f.put32(table+12, bins)
	for i := range uint64(bins) {
		f.put32(table+16+4*i, int32(node))
	}
	f.put32(f.at+16, int32(table))
	f.put(f.at+24, 0)
	if quiet := f.v.undisturbed(f.v.findOnce); !quiet || len(f.v.objects) != 1 || f.v.lost != 3 {
		t.Errorf("%d threads, %d lost", len(f.v.objects), f.v.lost)
	}
}

func TestScopesInScopesTakeNoDeeperStack(t *testing.T) {
	f := newFakeSet(t)
	f.mem = append(f.mem, make([]byte, 1<<16)...)
	shared := f.newClass(classShared, "").klass
	maps.Copy(f.v.classes, map[string]uint64{classShared: shared})
	maps.Copy(f.v.fields, map[string]uint64{
		"java/lang/Thread.headStackableScopes": 36, classScope + ".previous": 20, classShared + ".virtualThreads": 16,
	})
	f.put(f.at+24, 1)
	depth := 0
	f.n.vm.readBy(func(addr uint64, b []byte) int {
		depth = max(depth, runtime.Callers(0, make([]uintptr, 1000)))
		return f.read(addr, b)
	})
	f.v.find()
	object := f.v.objects[1]
	var want int
	for id := range uint64(12) {
		f.take(4096) // another page, which is read anew
		thread, node, table := f.take(48), f.take(24), f.take(24)
		scope, view, keys := f.take(24), f.take(16), f.take(40)
		copy(f.mem[thread:thread+36], f.mem[object:])
		f.put(thread+32, 100+id)
		copy(f.mem[node:node+16], f.mem[f.at:])
		f.put32(node+16, int32(thread))
		copy(f.mem[table:table+16], f.mem[f.table:])
		f.put32(table+12, 1)
		f.put32(table+16, int32(node))
		copy(f.mem[keys:keys+16], f.mem[f.at:])
		f.put32(keys+16, int32(table))
		f.put(keys+24, 1)
		copy(f.mem[view:view+12], f.mem[f.at:])
		f.put32(view+12, int32(keys))
		copy(f.mem[scope:scope+8], f.mem[f.at:])
		f.put32(scope+8, int32(shared))
		f.put32(scope+16, int32(view))
		f.put32(object+36, int32(scope))
		object, depth = thread, 0
		if f.v.find(); len(f.v.objects) != 3+int(id) || f.v.lost != 0 {
			t.Fatalf("%d: %v, %d lost", id, f.v.objects, f.v.lost)
		}
		if want == 0 {
			want = depth
		}
	}
	if depth != want {
		t.Errorf("%d calls deep, want %d", depth, want)
	}
}

func TestAThreadEndsOnlyByACompleteList(t *testing.T) {
	f := newFakeSet(t)
	f.put32(f.at+16, int32(f.complete))
	f.v.find()
	f.put32(f.at+16, int32(f.table))
	heap := collectedHeapOf(f.threaded)
	f.mem[heap+16] = 1 // a collection stops the threads
	if f.v.find(); len(f.v.objects) != 3 || f.v.lost == 0 {
		t.Errorf("during a collection: %v, %d lost", f.v.objects, f.v.lost)
	}
	f.mem[heap+16] = 0
	if f.v.find(); len(f.v.objects) != 3 || f.v.lost != 1 {
		t.Errorf("a table that lacks one: %v, %d lost", f.v.objects, f.v.lost)
	}
	f.put(f.at+24, 1)
	if f.v.find(); len(f.v.objects) != 2 || f.v.lost != 0 {
		t.Errorf("it has ended: %v, %d lost", f.v.objects, f.v.lost)
	}
}
