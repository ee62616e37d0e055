// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/frames"

// # Other stacks
//
// Tables or a signal's frame lead from one stack to another by a word in memory: OCaml 5 calls C on the thread's first
// stack, and keeps the place where it left its own one there. That word is at the same address in the next
// observations, its value is another. So the next copies read the word, and copy where it leads to
// (otherStack.link), else around the last place.

// Limits of copies of other stacks.
const (
	otherStackBelow = 16 << 10 // bytes below the place
	linkBelow       = 1 << 10  // instead, if a link gives the place of the very frame
	otherStackBytes = 96 << 10 // all bytes
	maxOtherStacks  = 4        // with -fsplit-stack there are several
)

// otherStack is a place on another stack, around which a stop copies.
type otherStack struct {
	at   frames.Addr // 0 means none
	size int         // bytes to copy, if more than usual
	end  int         // bytes from at to the end of complete walks, or 0
	// link leads to where a thread left that stack, as far as the word there is one of its addresses. Its address is 0 if
	// unknown: the thread then is assumed to leave the stack near at.
	link frames.StackLink
	root frames.Addr // with a link: the end of the last complete walk there, or 0
	// firstStack means that at is near the end of the thread's first stack, which is copied while the thread is on
	// another.
	firstStack bool
}

type otherStackLearner struct {
	stackPlaces *[maxOtherStacks]otherStack
	next        int                 // index of the place that was replaced last
	keepFor     int                 // walks elsewhere until a place is dropped
	walksLeft   [maxOtherStacks]int // 0 means that the place is kept
	gaveUp      bool                // a place was dropped since the last addMissing
}

// update returns again = true if the walk led to a new place that was not copied. A kernel sample has one stack only.
func (learner *otherStackLearner) update(end walkEnd, w *frames.Walker, s *RawSample) (again bool) {
	learner.learnUse(w)
	if end != endCutOther && end != endOtherStack {
		return false
	}
	link := w.LastStackLink()
	if !w.OnOtherStack() {
		link = frames.StackLink{}
	}
	again = learner.addMissing(w.UnreadAddr(), link, end == endCutOther)
	return again && !(s.How == ByKernelSample && w.OnOtherStack())
}

// firstStackBytes has the outermost frames and what the kernel puts beyond (arguments, environment).
const firstStackBytes = 24 << 10

// copyBytes returns how many bytes to copy, from [otherStackBelow] bytes below at.
func (s *otherStack) copyBytes() int {
	if s.size == 0 && s.end > 0 && s.link.At == 0 {
		return min(otherStackBelow+s.end+copyMargin, otherStackBytes)
	}
	return max(otherStackBytes, s.size)
}

// add returns added = true if the place has replaced no other.
func (learner *otherStackLearner) add(addr, size uint64) (at int, added bool) {
	list := learner.stackPlaces
	for i := range list {
		switch place := &list[i]; {
		case place.at>>12 == addr>>12 && place.link.At == 0:
			place.size, place.end = int(size), 0
			return i, false
		case place.at == 0:
			*place = otherStack{at: addr, size: int(size)}
			learner.walksLeft[i] = 0
			return i, true
		}
	}
	learner.next = (learner.next + 1) % maxOtherStacks
	list[learner.next] = otherStack{at: addr, size: int(size)}
	learner.walksLeft[learner.next] = 0
	return learner.next, false
}

// These are the walks elsewhere in a row that drop a place, unless a complete walk has ended there. Their number is
// doubled with each return.
const (
	minOthersKept = 64
	maxOthersKept = 1 << 14
)

// addMissing adds a place that was not copied. cut means that the copy there was too short. added means that the next
// copy has more, and the place has replaced no other.
func (learner *otherStackLearner) addMissing(addr uint64, link frames.StackLink, cut bool) (added bool) {
	if i := learner.withLink(link); i >= 0 {
		place := &learner.stackPlaces[i]
		place.link = link
		if cut && place.copyBytes() < maxCopyToEnd {
			place.size = min(4*place.copyBytes(), maxCopyToEnd)
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
	learner.stackPlaces[at].link = link
	return added
}

// withLink returns -1 if no place has the link.
func (learner *otherStackLearner) withLink(link frames.StackLink) int {
	for i := range learner.stackPlaces {
		if place := &learner.stackPlaces[i]; link.At != 0 && place.link.At == link.At {
			return i
		}
	}
	return -1
}

func (learner *otherStackLearner) learnUse(w *frames.Walker) {
	used := learner.linksOf(w)
	switch {
	case learner.stackPlaces[0].at == 0:
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
			learner.stackPlaces[i].root = w.Regs().SP()
		}
	}
	return found
}

// countWalk drops the places that no walk has used for long. Bit i of used: this walk used stackPlaces[i].
func (learner *otherStackLearner) countWalk(used uint) {
	list, n := learner.stackPlaces, 0
	for i := range list {
		if list[i].at != 0 && learner.isKept(i, used>>i&1 != 0) {
			list[n], learner.walksLeft[n] = list[i], learner.walksLeft[i]
			n++
		}
	}
	clear(list[n:])
}

func (learner *otherStackLearner) isKept(i int, used bool) bool {
	left := &learner.walksLeft[i]
	switch {
	case *left == 0 || learner.stackPlaces[i].end > 0: // it is a stack
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
	for i := range learner.stackPlaces {
		place := &learner.stackPlaces[i]
		size := uint64(otherStackBelow + max(otherStackBytes, place.size))
		if place.at == 0 || place.link.At != 0 || sp+otherStackBelow-place.at >= size {
			continue
		}
		found |= 1 << i
		if complete {
			place.end = max(place.end, int(int64(sp-place.at)), 1)
		}
	}
	return found
}

func (learner *otherStackLearner) extend(addr, n uint64) bool {
	for i := range learner.stackPlaces {
		if place := &learner.stackPlaces[i]; place.at != 0 && addr-place.at <= uint64(place.copyBytes()) {
			place.size = int(min(addr-place.at+n, maxDeepStack))
			return true
		}
	}
	return false
}
