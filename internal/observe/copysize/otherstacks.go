// SPDX-License-Identifier: Apache-2.0

package copysize

import "prywalk/frames"

// Limits of copies of other stacks.
const (
	OtherStackBelow = 16 << 10 // bytes below the place
	otherStackBytes = 96 << 10 // all bytes
	MaxOtherStacks  = 4        // with -fsplit-stack there are several
)

// OtherStack is a place on another stack, around which a stop copies.
type OtherStack struct {
	At   frames.Addr // 0: none
	Size int         // bytes to copy, if more than usual
	End  int         // bytes from At to the end of complete walks, or 0
	// FirstStack: At is near the end of the thread's first stack, which is copied while the thread is on another.
	FirstStack bool
}

// OtherStacks are the places that the next copy includes.
type OtherStacks struct {
	StackPlaces [MaxOtherStacks]OtherStack
}

type otherStackLearner struct {
	*OtherStacks
	next      int                 // index of the place that was replaced last
	keepFor   int                 // walks elsewhere until a place is dropped
	walksLeft [MaxOtherStacks]int // 0: the place is kept
	gaveUp    bool                // a place was dropped since the last addMissing
}

// update returns again = true if the walk led to a new place that was not copied. A kernel sample has one stack only.
func (learner *otherStackLearner) update(end WalkEnd, w *frames.Walker, c *WalkedCopy) (again bool) {
	learner.noteUsed(w)
	if end != EndCutOther && end != EndOtherStack || c.KernelSample && w.OnOtherStack() {
		return false
	}
	return learner.addMissing(w.UnreadAddr())
}

// FirstStackBytes has the outermost frames and what the kernel puts beyond (arguments, environment).
const FirstStackBytes = 24 << 10

// CopyBytes returns how many bytes to copy, from [OtherStackBelow] bytes below At.
func (s *OtherStack) CopyBytes() int {
	if s.Size == 0 && s.End > 0 {
		return min(OtherStackBelow+s.End+Margin, otherStackBytes)
	}
	return max(otherStackBytes, s.Size)
}

// add returns added = true if the place has replaced no other.
func (learner *otherStackLearner) add(addr, size uint64) (at int, added bool) {
	list := &learner.StackPlaces
	for i := range list {
		switch place := &list[i]; {
		case place.At>>12 == addr>>12:
			place.Size, place.End = int(size), 0
			return i, false
		case place.At == 0:
			*place = OtherStack{At: addr, Size: int(size)}
			learner.walksLeft[i] = 0
			return i, true
		}
	}
	learner.next = (learner.next + 1) % MaxOtherStacks
	list[learner.next] = OtherStack{At: addr, Size: int(size)}
	learner.walksLeft[learner.next] = 0
	return learner.next, false
}

// walks elsewhere in a row that drop a place, unless a complete walk has ended there; doubled with each return
const (
	minOthersKept = 64
	maxOthersKept = 1 << 14
)

// addMissing adds a place that was not copied. added: it has replaced no other.
func (learner *otherStackLearner) addMissing(addr uint64) (added bool) {
	if learner.keepFor == 0 || learner.gaveUp {
		learner.keepFor = min(max(2*learner.keepFor, minOthersKept), maxOthersKept)
		learner.gaveUp = false
	}
	at, added := learner.add(addr, 0)
	learner.walksLeft[at] = learner.keepFor
	return added
}

func (learner *otherStackLearner) noteUsed(w *frames.Walker) {
	switch {
	case learner.StackPlaces[0].At == 0:
	case w.LeftFirstStack() && !w.OnOtherStack(): // back again
	case w.OnOtherStack():
		learner.countWalk(learner.placesWith(w.Regs().SP(), w.StopReason().Complete()))
	default:
		learner.countWalk(0)
	}
}

// countWalk drops the places that no walk has used for long. Bit i of used: this walk used StackPlaces[i].
func (learner *otherStackLearner) countWalk(used uint) {
	list, n := &learner.StackPlaces, 0
	for i := range list {
		if list[i].At != 0 && learner.isKept(i, used>>i&1 != 0) {
			list[n], learner.walksLeft[n] = list[i], learner.walksLeft[i]
			n++
		}
	}
	clear(list[n:])
}

func (learner *otherStackLearner) isKept(i int, used bool) bool {
	left := &learner.walksLeft[i]
	switch {
	case *left == 0 || learner.StackPlaces[i].End > 0: // it is a stack
		return true
	case used:
		*left = learner.keepFor
	default:
		*left--
		learner.gaveUp = learner.gaveUp || *left == 0
	}
	return *left > 0
}

func (learner *otherStackLearner) placesWith(sp frames.Addr, complete bool) (found uint) {
	for i := range learner.StackPlaces {
		place := &learner.StackPlaces[i]
		if place.At == 0 || sp+OtherStackBelow-place.At >= uint64(OtherStackBelow+max(otherStackBytes, place.Size)) {
			continue
		}
		found |= 1 << i
		if complete {
			place.End = max(place.End, int(int64(sp-place.At)), 1)
		}
	}
	return found
}

func (learner *otherStackLearner) extend(addr, n uint64) bool {
	for i := range learner.StackPlaces {
		if place := &learner.StackPlaces[i]; place.At != 0 && addr-place.At <= uint64(place.CopyBytes()) {
			place.Size = int(min(addr-place.At+n, MaxDeep))
			return true
		}
	}
	return false
}
