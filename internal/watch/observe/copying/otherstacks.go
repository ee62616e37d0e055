// SPDX-License-Identifier: Apache-2.0

package copying

import "prywalk/frames"

// Limits of copies of other stacks.
const (
	OtherStackBelow = 16 << 10 // bytes below the place
	LinkBelow       = 1 << 10  // instead, if a link gives the place of the very frame
	otherStackBytes = 96 << 10 // all bytes
	MaxOtherStacks  = 4        // with -fsplit-stack there are several
)

// OtherStack is a place on another stack, around which a stop copies.
type OtherStack struct {
	At   frames.Addr // 0: none
	Size int         // bytes to copy, if more than usual
	End  int         // bytes from At to the end of complete walks, or 0
	// Link leads to where a thread left that stack, as far as the word there is one of its addresses. Its At is 0 if
	// unknown: the thread then is assumed to leave the stack near At.
	Link frames.StackLink
	Root frames.Addr // with a link: the end of the last complete walk there, or 0
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
	if end != EndCutOther && end != EndOtherStack {
		return false
	}
	link := w.LastStackLink()
	if !w.OnOtherStack() {
		link = frames.StackLink{}
	}
	again = learner.addMissing(w.UnreadAddr(), link, end == EndCutOther)
	return again && !(c.KernelSample && w.OnOtherStack())
}

// FirstStackBytes has the outermost frames and what the kernel puts beyond (arguments, environment).
const FirstStackBytes = 24 << 10

// CopyBytes returns how many bytes to copy, from [OtherStackBelow] bytes below At.
func (s *OtherStack) CopyBytes() int {
	if s.Size == 0 && s.End > 0 && s.Link.At == 0 {
		return min(OtherStackBelow+s.End+Margin, otherStackBytes)
	}
	return max(otherStackBytes, s.Size)
}

// add returns added = true if the place has replaced no other.
func (learner *otherStackLearner) add(addr, size uint64) (at int, added bool) {
	list := &learner.StackPlaces
	for i := range list {
		switch place := &list[i]; {
		case place.At>>12 == addr>>12 && place.Link.At == 0:
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

// addMissing adds a place that was not copied. cut: the copy there was too short. added: the next copy has more, and
// the place has replaced no other.
func (learner *otherStackLearner) addMissing(addr uint64, link frames.StackLink, cut bool) (added bool) {
	if i := learner.withLink(link); i >= 0 {
		place := &learner.StackPlaces[i]
		place.Link = link
		if cut && place.CopyBytes() < MaxToEnd {
			place.Size = min(4*place.CopyBytes(), MaxToEnd)
			return true
		}
		return false
	}
	if learner.keepFor == 0 || learner.gaveUp {
		learner.keepFor = min(max(2*learner.keepFor, minOthersKept), maxOthersKept)
		learner.gaveUp = false
	}
	at, added := learner.add(addr, 0)
	learner.walksLeft[at] = learner.keepFor
	learner.StackPlaces[at].Link = link
	return added
}

// withLink returns -1 if no place has the link.
func (learner *otherStackLearner) withLink(link frames.StackLink) int {
	for i := range learner.StackPlaces {
		if place := &learner.StackPlaces[i]; link.At != 0 && place.Link.At == link.At {
			return i
		}
	}
	return -1
}

func (learner *otherStackLearner) noteUsed(w *frames.Walker) {
	used := learner.linksOf(w)
	switch {
	case learner.StackPlaces[0].At == 0:
	case used == 0 && w.LeftFirstStack() && !w.OnOtherStack(): // back again
	case w.OnOtherStack():
		learner.countWalk(used | learner.placesWith(w.Regs().SP(), w.StopReason().Complete()))
	default:
		learner.countWalk(used)
	}
}

// linksOf returns the places whose links the walk went along, and those that have such a link's word.
func (learner *otherStackLearner) linksOf(w *frames.Walker) (found uint) {
	links := w.StackLinks()
	for n, link := range links {
		if link.At != 0 {
			found |= learner.placesWith(link.At, false)
		}
		i := learner.withLink(link)
		if i < 0 {
			continue
		}
		found |= 1 << i
		if n == len(links)-1 && w.OnOtherStack() && w.StopReason().Complete() {
			learner.StackPlaces[i].Root = w.Regs().SP()
		}
	}
	return found
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
		size := uint64(OtherStackBelow + max(otherStackBytes, place.Size))
		if place.At == 0 || place.Link.At != 0 || sp+OtherStackBelow-place.At >= size {
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
