// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/waits"
)

const runs, sleeps, waitsToo, joins = "runs", "sleeps", "waits, too", "waits for a thread's end"

// activity is what a thread, or tasks, do under a function.
type activity struct {
	holder        holder
	doing, object string // runs, sleeps, waitsToo, joins, or the call of a wait, for an object or ""
	in            int32  // the function that sleeps, which the holder's one calls; anywhere means none
}

type holder struct {
	thread   Thread
	function int32 // of the program's; anywhere means all
}

const anywhere = -1

// addActivity adds what a thread does. In waits for a lock, a thread or work, locks are rarely held: those count only
// for owners that are known.
func (s *Summary) addActivity(x *Sample, c class) {
	var doing, object string
	rarelyHolds := c == idle || c == machinery || c == others || c == within && isLock(&x.Wait)
	switch {
	case x.Blocked == 0:
		doing = runs
	case c == sleep:
		doing = sleeps
	case c == within && isLock(&x.Wait):
		doing = waitsToo
	case x.Wait.Kind == waits.Join:
		doing = joins
	default:
		doing, object = x.Wait.Call, x.Wait.Object
	}
	time := x.CPU + x.Queue + x.Blocked
	if x.Task == "" {
		s.awake[activity{holder{x.Thread, anywhere}, doing, object, anywhere}] += time
	}
	if rarelyHolds {
		return
	}
	for i, f := range x.Stack {
		if !slices.Contains(x.Stack[:i], f) {
			in := int32(anywhere)
			if i > 0 && doing == sleeps {
				in = x.Stack[0]
			}
			s.awake[activity{holder{x.Thread, f}, doing, object, in}] += time
		}
	}
}

// heldBy names a lock's owner, or a likely one, or is "".
func (s *Summary) heldBy(g *group) string {
	owner, most := Largest(g.owners, byNumber)
	switch {
	case 2*g.inherited > g.time:
		return ", taken in the parent process before the fork"
	case 5*most >= 4*g.time || len(g.owners) == 1:
		return ", held by " + s.name(owner, s.doing(func(h holder) bool { return h == holder{owner, anywhere} }))
	case len(g.owners) > 1:
		holding := s.doing(func(h holder) bool { return g.owners[h.thread] > 0 && g.functions[h.function] > 0 })
		return ", held by " + tabular.Plural(int64(len(g.owners)), "thread") + " in turn" +
			inBrackets(strings.TrimPrefix(holding, runs))
	}
	return s.likelyHeldBy(g)
}

// name adds, in one pair of brackets, a thread's number, if others have its name, and what it does.
func (s *Summary) name(t Thread, doing string) string {
	name := s.threads[t].name
	if name == "" {
		return fmt.Sprintf("thread %d", t.TID) + inBrackets(doing)
	}
	for other, x := range s.threads {
		if other != t && x.name == name {
			return name + inBrackets(strings.TrimSuffix(fmt.Sprintf("tid %d, %s", t.TID, doing), ", "))
		}
	}
	return name + inBrackets(doing)
}

func inBrackets(text string) string { return strings.TrimSuffix(" ("+text+")", " ()") }

// doing says what holders do most, and names an object, or a function that sleeps, with over half of that time.
func (s *Summary) doing(is func(holder) bool) string {
	times, objects, asleep := map[string]int64{}, map[string]int64{}, map[int32]int64{}
	for a, v := range s.awake {
		if is(a.holder) && a.doing != "" {
			times[a.doing] += v
		}
	}
	doing, most := Largest(times, strings.Compare)
	for a, v := range s.awake {
		if is(a.holder) && a.doing == doing {
			objects[a.object] += v
			asleep[a.in] += v
		}
	}
	object, time := Largest(objects, strings.Compare)
	in, sleep := Largest(asleep, cmp.Compare)
	switch {
	case in != anywhere && 2*sleep > most:
		return sleeps + " in " + s.function(in, "")
	case slices.Contains([]string{"", runs, sleeps, waitsToo, joins}, doing):
		return doing
	case object == "" || 2*time <= most:
		return "in " + doing
	}
	return "in " + doing + ": " + s.shortened(object)
}

// likelyHeldBy guesses an owner: a thread, or tasks, in a function that takes the lock, without a wait for it, for a
// third of the time, and twice as long as any other thread.
func (s *Summary) likelyHeldBy(g *group) string {
	times := map[holder]int64{}
	for a, v := range s.awake {
		if _, takes := g.functions[a.holder.function]; takes && !s.standsForMany(a.holder.function) {
			times[a.holder] += v
		}
	}
	order := func(a, b holder) int {
		return cmp.Or(byNumber(a.thread, b.thread), cmp.Compare(a.function, b.function))
	}
	best, time := Largest(times, order)
	maps.DeleteFunc(times, func(h holder, _ int64) bool { return h.thread == best.thread })
	if _, next := Largest(times, order); float64(time) < 0.3*s.length() || time < 2*next {
		return s.likelyHeldInTurn(g)
	}
	doing := s.doing(func(h holder) bool { return h == best })
	if best.thread == (Thread{}) || s.threads[best.thread].name == "" {
		if main, _ := Largest(g.functions, cmp.Compare); main == best.function && 2*g.functions[main] > g.time { // named
			return ", likely held there" + inBrackets(doing)
		}
		return ", likely held in " + s.function(best.function, doing)
	}
	return ", likely held by " + s.name(best.thread, doing)
}

// likelyHeldInTurn guesses that about one thread at a time that is in the group's main function, and does not wait for
// the lock, holds it.
func (s *Summary) likelyHeldInTurn(g *group) string {
	main, most := Largest(g.functions, cmp.Compare)
	if most == 0 || s.standsForMany(main) {
		return ""
	}
	inside := func(h holder) bool { return h.function == main }
	time := int64(0)
	for a, v := range s.awake {
		if inside(a.holder) {
			time += v
		}
	}
	if at := float64(time) / s.length(); at < 0.5 || at > 1.2 {
		return ""
	}
	return ", likely held there in turn" + inBrackets(s.doing(inside))
}

// standsForMany reports whether the name is that of all functions without one: who is in it need not take the lock.
func (s *Summary) standsForMany(function int32) bool {
	f := &s.list[function]
	return f.Name == unnamedcode.Bracketed(f.Module) || unnamedcode.IsPlaceholder(f.Name)
}
