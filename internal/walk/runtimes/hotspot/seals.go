// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"hash/maphash"
	"maps"
	"math/bits"
	"slices"
)

// # Seals
//
// A reading follows from the object's address, ZGC's colours, and the bytes read: of the thread, its continuation, and
// its chunks with all frames. The seal is their hash. A thread whose seal holds later, too, waits in the same state at
// the same place, and nothing is decoded; whether it ran between is not known. Collections that leave the thread and
// its references where they are leave its seal valid.
type seal struct {
	object uint64
	places []span // that were read
	hash   uint64 // 0 means none
}

// epoch is a time in which the addresses of a list are valid: the mark of an object that was moved says where it is.
// Full collections of some collectors leave no marks, and ZGC's none at all.
type epoch struct {
	moves   int32 // collections of ZGC, or full ones; -1 means none
	colours colours
}

func (s *seal) cover(at uint64, n int) {
	end := at + uint64(n)
	for i := range s.places {
		if p := &s.places[i]; at <= p.high && end >= p.low {
			p.low, p.high = min(p.low, at), max(p.high, end)
			return
		}
	}
	s.places = append(s.places, span{at, end})
}

var sealSeed = maphash.MakeSeed()

func (v *virtualThreads) hashOf(s *seal) (hash uint64) {
	for _, p := range s.places {
		n := int(p.high - p.low)
		v.key = slices.Grow(v.key[:0], n)[:n]
		n = v.threads.vm.cached.pages.Read(p.low, v.key) // fewer are as much a part of the reading
		hash = bits.RotateLeft64(hash, 1) ^ maphash.Bytes(sealSeed, v.key[:n])
	}
	return hash
}

func (v *virtualThreads) holds(s *seal) bool { return s.hash != 0 && v.hashOf(s) == s.hash }

// readSealed is read, and seals the thread: the seal has a hash of the bytes that were read. It also returns false if
// the hash may be of other bytes, as the cache was emptied meanwhile.
func (v *virtualThreads) readSealed(object uint64) (t virtualThread, ok bool) {
	cached, s := &v.threads.vm.cached, seal{}
	dropped := cached.pages.Dropped
	v.threads.vm.mem.traced = &s
	t, ok = v.read(object)
	v.threads.vm.mem.traced = nil
	t.seal = seal{object, s.places, v.hashOf(&s)}
	return t, ok && cached.pages.Dropped == dropped
}

// adoptList takes the list's epoch, and drops the seals of threads that it does not have at their address.
func (v *virtualThreads) adoptList() {
	if v.lastRead.colours != v.listed.colours {
		clear(v.seals)
	}
	v.listed = v.lastRead
	maps.DeleteFunc(v.seals, func(id uint64, s seal) bool { return v.objects[id] != s.object })
}

// onList is undisturbed for a reading that needs the list of threads to be of the present epoch. If it is of an earlier
// one, onList reads the list again, if that is due.
func (v *virtualThreads) onList(read func()) (quiet bool) {
	for range 2 {
		valid := true
		quiet = v.undisturbed(func() {
			if valid = v.lastRead == v.listed; valid {
				read()
			}
		})
		if valid {
			return quiet
		}
		v.listing.Places(v.find)
	}
	return false
}

// changed returns the threads that may not be as readBatch has last yielded them.
func (v *virtualThreads) changed(ids []uint64) (changed []uint64) {
	v.recording = true
	seals := make([]seal, len(ids))
	if !v.onList(func() {
		for i, id := range ids {
			seals[i] = v.seals[id]
			for _, p := range seals[i].places {
				v.threads.vm.cached.pages.Expect(p.low, p.high)
			}
		}
		v.threads.vm.cached.reread()
		for i, id := range ids {
			if !v.holds(&seals[i]) {
				changed = append(changed, id)
			}
		}
	}) {
		return ids
	}
	return changed
}
