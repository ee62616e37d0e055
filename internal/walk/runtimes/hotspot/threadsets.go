// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"maps"
	"slices"
	"time"
)

// # Sets of virtual threads
//
// jdk.internal.vm.ThreadContainers knows the root container's threads and the executors; threads know the scopes that
// they have opened (StackableScope). A container has a key set of a ConcurrentHashMap:
//
//	key set ─► map ─► table │ Node │ TreeBin │ ForwardingNode │ …    Node ─► key, next

const (
	classContainers = "jdk/internal/vm/ThreadContainers"
	classTracking   = classContainers + "$RootContainer$TrackingRootContainer"
	classCounting   = classContainers + "$RootContainer$CountingRootContainer" // jdk.trackAllThreads=false
	classScope      = "jdk/internal/vm/StackableScope"
	classMap        = "java/util/concurrent/ConcurrentHashMap"
	classFlock      = "jdk/internal/misc/ThreadFlock"
	nodes           = "[L" + classMap + "$Node;"
	cells           = "[L" + classMap + "$CounterCell;"
	aSet            = "Ljava/util/Set;"
)

// javaFields are the names and types of fields by class; an optional one follows "?".
var javaFields = map[string]string{
	"java/lang/Thread": "tid J name Ljava/lang/String; parkBlocker Ljava/lang/Object; " +
		"?headStackableScopes L" + classScope + ";",
	classVirtual:                  "state I carrierThread Ljava/lang/Thread; cont L" + classContinuation + ";",
	classContinuation:             "tail L" + classChunk + ";",
	classChunk:                    "parent L" + classChunk + "; size I sp I ?bottom I ?argsize I", // it has one of these
	classTracking:                 "?VTHREADS " + aSet + " ?THREADS " + aSet,
	classContainers:               "CONTAINER_REGISTRY " + aSet,
	classScope:                    "previous L" + classScope + ";",
	"java/lang/ref/Reference":     "referent Ljava/lang/Object;",
	classMap:                      "table " + nodes + " nextTable " + nodes + " baseCount J counterCells " + cells,
	classMap + "$CounterCell":     "value J",
	classMap + "$CollectionView":  "map L" + classMap + ";",
	classMap + "$Node":            "key Ljava/lang/Object; next L" + classMap + "$Node;",
	classMap + "$TreeBin":         "first L" + classMap + "$TreeNode;",
	classMap + "$ForwardingNode":  "",
	classExecutor:                 "?threads " + aSet,
	classShared:                   "?virtualThreads " + aSet,
	classFlock:                    "?threads " + aSet,
	classFlock + flockOfContainer: "?flock L" + classFlock + ";",
	classCounting:                 "",
}

const (
	classExecutor    = "java/util/concurrent/ThreadPerTaskExecutor"
	classShared      = "jdk/internal/vm/SharedThreadContainer"
	flockOfContainer = "$ThreadContainerImpl"
)

var wantClasses = []string{
	"Klass::_class_loader_data", "Klass::_next_link", "Klass::_java_mirror", "ClassLoaderData::_klasses",
}

const (
	maxClasses  = 1 << 18
	maxScopes64 = 64
	maxMoves    = 16 // of an object
	maxTable    = 1 << 22
	maxChain    = 1 << 12
	pauseStep   = 100 * time.Microsecond
	// A list waits for collections for this time, the reading of a batch for less.
	listPatience  = time.Second
	batchPatience = 10 * time.Millisecond
)

// findClasses looks for the classes in the list of the first loader, which grows at its head; it returns false if not
// all that are needed are there.
func (v *virtualThreads) findClasses() bool {
	m, l := v.threads.vm.memory(), v.threads.layout
	next := l.offset("Klass::_next_link")
	head := m.word(m.word(v.threads.oops.thread+l.offset("Klass::_class_loader_data")) +
		l.offset("ClassLoaderData::_klasses"))
	if m.err != nil {
		return false
	}
	if v.classes == nil {
		v.classes = map[string]uint64{}
	}
	found := false
	for k, n := head, 0; k != 0 && k != v.newest && n < maxClasses; n++ {
		name := v.threads.className(k)
		if _, wanted := javaFields[name]; wanted {
			v.classes[name], found = k, true
		}
		m := v.threads.vm.memory()
		if k = m.word(k + next); m.err != nil {
			return false
		}
	}
	v.newest = head
	v.learnt = v.learnt && !found
	v.untraced = v.classes[classTracking] == 0 && v.classes[classCounting] != 0
	return v.classes[classVirtual] != 0 && v.classes[classContinuation] != 0 && v.classes[classChunk] != 0 &&
		v.classes[classContainers] != 0
}

// mirrorOf returns a class's java.lang.Class, 0 if that is unknown, which it counts.
func (v *virtualThreads) mirrorOf(class string) uint64 {
	ref, ok := v.threads.handled("Klass::_java_mirror",
		v.wordAt(v.classes[class]+v.threads.layout.offset("Klass::_java_mirror")))
	if !ok {
		v.lost++
		return 0
	}
	return v.current(v.threads.resolve(v.lastRead.colours, ref))
}

// follow reads a reference. It returns 0 for null, and for one that is unreadable or unresolved, which it counts.
func (v *virtualThreads) follow(at uint64) uint64 {
	return v.current(v.threads.referenceAt(v.lastRead.colours, at, v.threads.oops.wide))
}

// current follows an object that collectors have moved to its new place, which its mark then has.
func (v *virtualThreads) current(object uint64, ok bool) uint64 {
	if ok && object == 0 {
		return 0
	}
	m := v.threads.vm.memory()
	for range maxMoves {
		mark := m.word(object)
		if mark&markMarkedValue != markMarkedValue {
			break
		}
		object = mark &^ markMarkedValue
	}
	if !ok || m.err != nil || object == 0 || object%8 != 0 {
		v.lost++
		return 0
	}
	return object
}

// undisturbed reports whether nothing was moved while read ran. It waits for the end of a collection, until patience,
// which all readings of a list share, is used up.
func (v *virtualThreads) undisturbed(read func()) bool {
	v.threads.vm.cached.bypass()
	collected, noPause := v.threads.readCollections()
	for ; !noPause && v.patience > 0; v.patience -= pauseStep {
		time.Sleep(pauseStep)
		collected, noPause = v.threads.readCollections()
	}
	if !noPause {
		return false
	}
	v.lastRead.moves = collected
	v.lastRead.colours, _ = v.threads.readColours()
	if m := v.threads.vm.memory(); v.lastRead.colours.kind == notZGC { // the count of full ones follows
		v.lastRead.moves = m.int32(v.threads.heapAddress(m, "CollectedHeap::_total_collections") + 4)
	}
	v.threads.vm.cached.drop()
	v.threads.vm.cached.begin(0)
	read()
	v.threads.vm.cached.bypass()
	v.threads.vm.cached.drop() // else the next query copies its pages
	after, still := v.threads.readCollections()
	colours, ok := v.threads.readColours()
	return ok && still && after == collected && colours == v.lastRead.colours
}

// find sets objects, ids and lost, and returns ids. Until a reading is complete, ids keeps the threads that were known:
// whole is always true, so that [managed.Listing] adds none.
func (v *virtualThreads) find() (ids []uint64, whole bool) {
	found, lost, incomplete := v.objects, 1, 0 // findOnce makes a new map
	if found == nil {
		found = map[uint64]uint64{}
	}
	for try := 0; try < virtualPasses && incomplete < virtualTries; try++ {
		if !v.undisturbed(v.findOnce) {
			continue
		}
		if v.lastRead != v.listed {
			for id := range found {
				found[id] = 0
			}
		}
		if v.adoptList(); v.lost == 0 {
			return v.ids, true
		}
		maps.Copy(found, v.objects)
		lost = v.lost
		incomplete++
	}
	v.objects, v.ids, v.lost = found, slices.Collect(maps.Keys(found)), lost
	return v.ids, true
}

// findOnce counts in lost what it could not read, and the keys that the maps count besides those found.
func (v *virtualThreads) findOnce() {
	v.objects, v.ids, v.lost, v.maps = map[uint64]uint64{}, nil, 0, v.maps[:0]
	for _, field := range []string{"VTHREADS", "THREADS"} {
		if at := v.field(classTracking + "." + field); at != 0 {
			v.set(v.mirrorOf(classTracking)+at, v.addThread)
		}
	}
	v.set(v.mirrorOf(classContainers)+v.field(classContainers+".CONTAINER_REGISTRY"), func(ref uint64) {
		v.container(v.follow(ref + v.field("java/lang/ref/Reference.referent")))
	})
	for _, id := range v.threads.byTID {
		if object, ok := v.waiters.threadObject(id); ok {
			v.waiters.learnFields(object)
			v.scopes(object)
		}
	}
	for i := 0; i < len(v.ids); i++ { // scopes adds others
		v.scopes(v.objects[v.ids[i]])
	}
	v.threads.vm.cached.bypass()
	for _, had := range v.maps {
		now := v.readMap(had.at)
		if now.table != had.table || now.nextTable != had.nextTable {
			v.lost++ // it grew: the table that was read may lack keys
		}
		v.lost += max(0, min(had.count, now.count)-had.found)
	}
}

// wordAt and numberAt count what is unreadable.
func (v *virtualThreads) wordAt(at uint64) uint64 {
	m := v.threads.vm.memory()
	word := m.word(at)
	if m.err != nil {
		v.lost++
	}
	return word
}

func (v *virtualThreads) numberAt(at uint64) uint64 {
	m := v.threads.vm.memory()
	number := uint32(m.int32(at))
	if m.err != nil {
		v.lost++
	}
	return uint64(number)
}

func (v *virtualThreads) addThread(object uint64) {
	id := v.wordAt(object + v.field("java/lang/Thread.tid"))
	if v.threads.klassOf(object, v.threads.oops.header) != v.classes[classVirtual] || v.objects[id] != 0 {
		return
	}
	v.objects[id], v.ids = object, append(v.ids, id)
}

// scopes adds the threads of the scopes that a thread has opened.
func (v *virtualThreads) scopes(thread uint64) {
	at := v.field("java/lang/Thread.headStackableScopes")
	if at == 0 {
		return
	}
	scope := v.follow(thread + at)
	for n := 0; scope != 0 && n < maxScopes64; n++ {
		v.container(scope)
		scope = v.follow(scope + v.field(classScope+".previous"))
	}
}

func (v *virtualThreads) container(object uint64) {
	if object == 0 {
		return
	}
	v.threads.searchSupers(v.threads.klassOf(object, v.threads.oops.header), func(klass uint64) bool {
		switch klass {
		case 0:
		case v.classes[classExecutor]:
			v.set(object+v.field(classExecutor+".threads"), v.addThread)
		case v.classes[classShared]:
			v.set(object+v.field(classShared+".virtualThreads"), v.addThread)
		case v.classes[classFlock+flockOfContainer]:
			if flock := v.follow(object + v.field(classFlock+flockOfContainer+".flock")); flock != 0 {
				v.set(flock+v.field(classFlock+".threads"), v.addThread)
			}
		}
		return false
	})
}

// keyMap is one reading of a ConcurrentHashMap.
type keyMap struct {
	at, table, nextTable uint64 // nextTable: while it grows
	count, found         int    // keys: by the map's own count, and read
}

func (v *virtualThreads) readMap(at uint64) keyMap {
	k := keyMap{at: at, table: v.follow(at + v.field(classMap+".table"))}
	k.nextTable = v.follow(at + v.field(classMap+".nextTable"))
	count := v.wordAt(at + v.field(classMap+".baseCount"))
	v.elements(v.follow(at+v.field(classMap+".counterCells")), func(cell uint64) {
		count += v.wordAt(cell + v.field(classMap+"$CounterCell.value"))
	})
	k.count = int(min(max(0, int64(count)), maxVirtual))
	return k
}

// set yields the keys of the set that a field refers to.
func (v *virtualThreads) set(at uint64, each func(object uint64)) {
	view := v.follow(at)
	if view == 0 {
		return
	}
	at = v.follow(view + v.field(classMap+"$CollectionView.map"))
	if at == 0 {
		return
	}
	k := v.readMap(at)
	var bins, keys []uint64
	for _, table := range []uint64{k.table, k.nextTable} {
		v.elements(table, func(node uint64) { bins = append(bins, node) })
	}
	slices.Sort(bins) // neighbours are read together
	for i, node := range bins {
		if len(keys) > 2*maxVirtual { // a map that grows has them twice
			v.lost += len(bins) - i
			break
		}
		v.bin(node, func(key uint64) { keys = append(keys, key) })
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	k.found = len(keys)
	v.maps = append(v.maps, k)
	for _, key := range keys {
		each(key)
	}
}

// elements yields the objects of an array.
func (v *virtualThreads) elements(array uint64, each func(object uint64)) {
	if array == 0 {
		return
	}
	n, klass := v.numberAt(array+v.threads.oops.lengthAt()), v.threads.klassOf(array, v.threads.oops.header)
	helper := v.numberAt(klass + v.threads.layout.offset("Klass::_layout_helper"))
	if klass == 0 || n > maxTable {
		v.lost++
		return
	}
	content, size := array+(helper>>16&0xff), uint64(4)
	if v.threads.oops.wide {
		size = 8
	}
	for i := range n {
		if object := v.follow(content + size*i); object != 0 {
			each(object)
		}
	}
}

func (v *virtualThreads) bin(node uint64, each func(object uint64)) {
	switch v.threads.klassOf(node, v.threads.oops.header) {
	case v.classes[classMap+"$ForwardingNode"]: // its nodes are in nextTable, which may be the map's table by now
		return
	case v.classes[classMap+"$TreeBin"]:
		node = v.follow(node + v.field(classMap+"$TreeBin.first"))
	}
	for n := 0; node != 0 && n < maxChain; n++ {
		if key := v.follow(node + v.field(classMap+"$Node.key")); key != 0 {
			each(key)
		}
		node = v.follow(node + v.field(classMap+"$Node.next"))
	}
}
