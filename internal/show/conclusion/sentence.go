// SPDX-License-Identifier: Apache-2.0

package conclusion

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/walk/waits"
)

const (
	maxWidth = 120 // columns
	// small is the part of the duration from which on time is worth a word, muchDoubt that of CPU time.
	small     = 0.05
	muchDoubt = 0.2
	// busyFrom is the number of CPUs from which on a program is busy though threads sleep; limitedFrom replaces it if
	// threads wait for the GIL for limitFrom of the duration or longer.
	busyFrom    = 0.3
	limitedFrom = 0.18
	limitFrom   = 0.1
	// clauseFrom is the part of a thread's time from which on a wait has a clause.
	clauseFrom = 0.2
	// pollsFor times as much sleep as time in the run queue means that a thread polls, and does not lack a CPU.
	pollsFor = 20
	// collectorFrom is the share of CPU time from which on a garbage collector or compiler is named.
	collectorFrom = 0.2
	// fewSamples is the number of samples on a CPU below which a sentence gives their number.
	fewSamples = 20
	// A recording shorter than short without a known function has no conclusion: the CPU time of a start and an exit, of
	// which it consists, can be a multiple of its length.
	short = float64(10 * time.Millisecond)
)

// widths are those of names. The brief ones are without modules, pools, and the number of waiters at a time.
var widths = []struct {
	name  int
	brief bool
}{{40, false}, {36, false}, {32, false}, {32, true}, {28, true}, {24, true}, {22, true}, {20, true}, {18, true},
	{16, true}, {14, true}, {12, true}}

// Sentence returns the conclusion, one line without a full stop; "" without samples. Names are shortened until it has
// room for its main clause with all doubts. The notes on connections and on a full pool
// follow at any width.
func (s *Summary) Sentence() (line string) {
	for _, w := range widths {
		s.nameWidth, s.brief = w.name, w.brief
		clauses := s.clauses()
		if len(clauses) == 0 {
			return ""
		}
		line = strings.Join(append(s.alarms(), clauses[0]), "; ")
		for _, c := range clauses[1:] {
			if tabular.Fits(line+"; "+c, maxWidth) {
				line += "; " + c
			}
		}
		if tabular.Fits(line, maxWidth) {
			break
		}
	}
	return printable.String(line + s.atEnd)
}

// clauses begin with the main one; there is not always room for the others.
func (s *Summary) clauses() []string {
	s.atEnd = ""
	length := s.length()
	cpu, queue := float64(s.cpu)/length, float64(s.queue)/length
	s.works = cpu+queue >= 2*small
	queued, polling := s.queuedThreads()
	lacksCPUs := queue >= max(cpu, 2*small) && pollsFor*s.queue >= polling
	s.busy = lacksCPUs || cpu >= busyFrom
	asleep, where, groups := s.asleep(length), s.where(), s.waitsByTime()
	wait, all := 0.0, 0.0 // wait is without doubt
	for _, g := range groups {
		all += float64(g.time) / length
		if !s.isDoubtful(g) {
			wait += float64(g.time) / length
		}
	}
	limit := slices.IndexFunc(groups, s.limits)
	held, most := s.loopHeld(length)
	isIdle := lacksCPUs && s.mostlyIdle(length) && all <= cpu+queue
	switch {
	case s.OnlyValues != "" && where == "", cpu+queue == 0 && s.blocked == [stopped + 1]int64{},
		where == "" && length < short:
		return nil
	case s.OnlyValues == "cpu":
		return []string{"busy: " + where}
	case s.OnlyValues != "":
		return []string{s.OnlyValues + ": " + where}
	case s.blocked[stopped] > 0 && s.blocked[stopped] >= s.cpu+s.queue+s.blocked[within]:
		return []string{"stopped: " + s.who(s.of(stopped), length) + " by a signal or a debugger"}
	case most >= 0.5 && held >= max(clauseFrom, cpu+queue):
		percent := fmt.Sprintf("%.0f", math.Floor(100*held))
		if held < 0.5 {
			percent += fmt.Sprintf(" to %.0f", math.Ceil(100*most))
		}
		main := "event loop blocked " + percent + " % of the time" + s.within(s.held, "in")
		clauses := append([]string{main}, s.more(groups, length)...)
		return append(clauses, s.busyToo(cpu, where)...)
	case lacksCPUs && !isIdle && (wait == 0 || s.queue >= groups[0].time): // other waits may be unrelated
		main := s.queued(queued, where)
		if where != "" || cpu >= small {
			main += s.doubts(false)
		}
		return append(append([]string{main}, s.more(groups, length)...), s.sleepToo()...)
	case wait > cpu+queue && wait >= small && (groups[0].intensity(length) >= clauseFrom || wait >= 0.5):
		s.OnlyWaits = cpu < 2*small
		s.atEnd = cmp.Or(s.fullPool(groups[0]), s.waitingPool(groups[0]))
		clauses := append([]string{"mostly waiting: " + s.waiting(groups[0], length)}, s.more(groups[1:], length)...)
		clauses = append(clauses, s.next(groups[0], length)...)
		if s.atEnd == "" {
			clauses = append(clauses, s.sleepToo()...)
		}
		return append(clauses, s.busyToo(cpu, where)...)
	case cpu >= busyFrom || cpu >= limitedFrom && limit >= 0 || cpu >= small && len(asleep) == 0:
		busy := "busy: " + cmp.Or(where, "where is not known") + "; " + load(cpu)
		if limit >= 0 {
			busy += "; " + s.who(groups[limit], length) + groups[limit].verb(" wait") + " for the GIL"
			groups = slices.Delete(groups, limit, limit+1)
		}
		busy += s.doubts(false)
		return append([]string{busy}, s.more(groups, length)...)
	default:
		main, doubt := "hardly any time", ""
		if s.Unseen != "" {
			doubt = "; " + s.Unseen + " are not examined, so requests may wait"
		}
		if s.rules[waits.IdleEventLoop] > 0 {
			s.atEnd = s.unanswered()
		}
		for i, p := range asleep {
			if i == 0 {
				main = "mostly asleep: " + p.text
				continue
			}
			longer := main + ", " + p.text
			if p.of == sleep || tabular.Fits(strings.Join(append(s.alarms(), longer+doubt), "; "), maxWidth) {
				main = longer
			}
		}
		if isIdle {
			doubt += s.lateToo()
		}
		return append(append([]string{main + doubt}, s.more(groups, length)...), s.busyToo(cpu, where)...)
	}
}

// limits reports that threads wait for the GIL for long, which bounds the CPU time.
func (s *Summary) limits(g *group) bool {
	return g.key.object == string(waits.GIL) && float64(g.time) >= limitFrom*s.length()
}

// unanswered is the note of connections on which no data came back, or "" if there are none, or it is not known.
func (s *Summary) unanswered() string {
	for _, n := range s.notes {
		if strings.HasPrefix(n, runstats.AtTheEnd) && !s.Part {
			return "; " + n
		}
	}
	return ""
}

// loopHeld is the largest share of the time that a thread waits within turns of its event loop, at least and at most:
// between ticks, it can have waited in the loop's selector.
func (s *Summary) loopHeld(length float64) (least, most float64) {
	thread, held := Largest(s.held.threads, byNumber)
	return float64(held) / length, float64(held+s.perhapsHeld.threads[thread]) / length
}

const throttled = " was throttled for" // in a note

func (s *Summary) isThrottled() bool {
	return slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, throttled) })
}

// alarms are what a time cannot show.
func (s *Summary) alarms() (clauses []string) {
	for _, a := range []struct{ in, says string }{
		{"POSSIBLE DEADLOCK: ", "possible deadlock (below)"}, {"DEADLOCK: ", "deadlock (below)"},
		{": unknown: ", "whether it hangs is unknown (below)"}, {" was frozen (as by", "its cgroup was frozen"},
		{throttled, "its CPU quota was used up"},
	} {
		for _, n := range s.notes {
			if strings.HasPrefix(n, a.in) || strings.Contains(n, a.in) && a.in[0] != 'D' {
				clauses = append(clauses, a.says)
				break
			}
		}
	}
	return append(clauses, s.children()...)
}

// children returns clauses for child processes with at least half of the CPU time that are short-lived, and for those
// that are not recorded and have used as much as all that is, or are there while hardly anything else works.
func (s *Summary) children() (clauses []string) {
	least := small * s.length()
	programs, sum := maps.Clone(s.shortLived), int64(0)
	for _, v := range programs {
		sum += v
	}
	if delete(programs, ""); 2*sum >= s.cpu && float64(sum) >= least {
		names := byValue(programs)
		names = names[:min(2, len(names))]
		for i := range names {
			names[i] = tabular.Shorten(names[i], s.nameWidth)
		}
		text := "short-lived child processes" + inBrackets(strings.Join(names, ", "))
		clauses = append(clauses, text+" have "+percent(sum, s.cpu)+" of the CPU time")
	}
	for _, n := range s.notes {
		who, used := runstats.ReadUnrecordedChildren(n)
		switch {
		case who == "" || s.Part:
		case used*1e9 >= max(least, float64(s.cpu)):
			clauses = append(clauses, fmt.Sprintf("%s used %.1f s of CPU, not recorded (--children)", who, used))
		case float64(s.cpu+s.queue+s.blocked[within]) < least && s.blocked[others] == 0: // else the line has the wait
			clauses = append(clauses, who+" not recorded (--children)")
		}
	}
	return clauses
}

func percent(part, whole int64) string {
	return fmt.Sprintf("%.0f %%", math.Floor(100*float64(part)/float64(max(1, whole))))
}

// function names a function with its module; more follows in the same brackets.
func (s *Summary) function(number int32, more string) string {
	f := s.list[number]
	name, head := f.Name, strings.IndexAny(f.Name+"(", "([")
	if i := strings.LastIndexByte(name[:head], '/'); i >= 0 && !strings.ContainsAny(name[:head], " :$") { // a path of Go
		if name = name[i+1:]; s.brief {
			_, name, _ = strings.Cut(name, ".")
		}
	}
	name = tabular.Shorten(name, s.nameWidth)
	switch {
	case s.brief && name == "(anonymous)" && f.Module != "": // its file says more
		return tabular.Shorten(f.Module, s.nameWidth) + inBrackets(more)
	case s.brief, f.Module == "", strings.Contains(f.Name, strings.TrimSuffix(f.Module, ".java")):
		return name + inBrackets(more)
	case more == "":
		return name + inBrackets(tabular.Shorten(f.Module, s.nameWidth))
	}
	return name + inBrackets(tabular.Shorten(f.Module, s.nameWidth)+", "+more)
}

func (f Function) isMain() bool {
	return strings.HasSuffix("."+f.Name, ".main") || strings.HasPrefix(f.Name, "<module>")
}

// queuedThreads counts the threads that ran and queued for over half of the mean, and adds up their sleeps.
func (s *Summary) queuedThreads() (n, asleep int64) {
	sleeps := cmp.Or(s.of(sleep), &group{})
	for id, t := range s.threads {
		if s.isReady(&t) {
			n++
			asleep += sleeps.threads[id]
		}
	}
	return n, asleep
}

func (s *Summary) isReady(t *threadTime) bool {
	return 2*float64(t.ready)*float64(len(s.threads)) > float64(s.cpu+s.queue)
}

func (s *Summary) queued(n int64, where string) string {
	text := fmt.Sprintf("waiting for a CPU: %s ran %s and queued %s", tabular.Plural(n, "thread"),
		tabular.Nanos(s.cpu), tabular.Nanos(s.queue))
	if where != "" {
		text += "; CPU time: " + where
	}
	return text
}

// mostlyIdle reports whether the threads that queue wait for work for three quarters of their time or more, and the
// program runs for less than busyFrom of the duration and queues for less than half of it.
func (s *Summary) mostlyIdle(length float64) bool {
	var idle, wall int64
	for _, t := range s.threads {
		if s.isReady(&t) {
			idle, wall = idle+t.idle, wall+t.wall
		}
	}
	return 4*idle >= 3*wall && float64(s.cpu) < busyFrom*length && float64(s.queue) < 0.5*length
}

// lateToo says that idle threads get a CPU late. A thread delays each other one by its CPU time at most.
func (s *Summary) lateToo() string {
	text := fmt.Sprintf("; to run %s, they queued %s for a CPU", tabular.Nanos(s.cpu), tabular.Nanos(s.queue))
	if s.queue >= 2*int64(len(s.threads))*s.cpu && !s.isThrottled() && !s.Part {
		text += " of a busy host"
	}
	return text
}

// sleepToo ends a sentence with the sleeps of the program (sleep, usleep) if they took more time than all else. The
// threads that sleep can be those that others wait for.
func (s *Summary) sleepToo() []string {
	if g := s.of(sleep); g != nil && g.time > max(s.blocked[within], s.cpu+s.queue) && len(g.functions) > 0 {
		return []string{s.who(g, s.length()) + g.verb(" sleep") + s.asleepIn(g)}
	}
	return nil
}

// busyToo ends a sentence on something else.
func (s *Summary) busyToo(cpus float64, where string) []string {
	if cpus < 2*small {
		return nil
	}
	return []string{strings.TrimSuffix("busy on "+load(cpus)+", "+where, ", ") + s.doubts(true)}
}

func load(cpus float64) string {
	number := tabular.TrimFloat(cpus)
	if number == "1" {
		return "1 CPU"
	}
	return number + " CPUs"
}

// doubts say what of the CPU time is not certain.
func (s *Summary) doubts(second bool) (text string) {
	switch {
	case 2*s.incomplete > s.cpu:
		return "; " + percent(s.incomplete, s.cpu) + " has incomplete stacks"
	case s.unexplained >= int64(muchDoubt*float64(s.cpu)):
		text = "; " + percent(s.unexplained, s.cpu) + " of CPU time has no sample"
	case s.incomplete >= int64(muchDoubt*float64(s.cpu)):
		text = "; " + percent(s.incomplete, s.cpu) + " has incomplete stacks"
	}
	if s.ticks > 0 && s.ticks < fewSamples && !second {
		text += "; only " + tabular.Plural(s.ticks, "sample") + " of threads on a CPU"
	}
	return text
}

// where names the garbage collectors, compilers and placeholders that have collectorFrom of the time or more, and the
// function that has most of the rest; it returns "" if most of the time has no sample.
func (s *Summary) where() string {
	if 2*s.unexplained > s.cpu {
		return ""
	}
	texts := map[string]int64{}
	loop, in, polled := s.polling()
	if polled > 0 {
		texts[loop] = polled
	}
	top, _ := Largest(s.self, cmp.Compare)
	if code, share := s.code(); share > 0 && (polled == 0 || top != in && !s.brief) {
		texts[code] = share
	}
	for name, v := range s.collectors {
		if name != "" && float64(v) >= collectorFrom*float64(s.cpu) {
			texts[percent(v, s.cpu)+strings.Replace(" by "+name, " by [", " [", 1)] = v
		}
	}
	return strings.Replace(strings.Join(byValue(texts), ", "), ", spread over", ", the rest spread over", 1)
}

// code names the innermost function that has most of the time outside of garbage collectors and compilers, or, if that
// is spread, the smallest one above half of it, with its time.
func (s *Summary) code() (text string, time int64) {
	rest := s.collectors[""]
	top, self := Largest(s.self, cmp.Compare)
	if self == 0 {
		return "", 0
	}
	if 10*self >= 3*rest {
		return percent(self, s.cpu) + " in " + s.function(top, "") + s.called(top), self
	}
	under, least := int32(-1), rest
	for f, total := range s.total {
		smaller := total < least || total == least && f < under
		if smaller && 2*total >= rest && 100*total <= 95*rest && !s.list[f].isMain() {
			under, least = f, total
		}
	}
	below := func(f int32, in string) string { return percent(s.total[f], s.cpu) + " under " + s.function(f, in) }
	outer, calls := s.total[top], len(s.below) < maxPairs && 4*s.below[pair{top, under}] < self // top calls under
	if outer > least && calls || under < 0 && 2*outer >= rest && !s.list[top].isMain() || under == top {
		text = below(top, percent(self, s.cpu)+" in itself")
		switch {
		case under < 0 || under == top:
		case 20*outer >= 19*s.cpu: // so under is within it, and its share nearly the same
			text += ", of that " + below(under, "")
		default:
			text += ", " + below(under, "")
		}
		return text, outer
	}
	most := ", most in " + s.function(top, percent(self, s.cpu))
	if under >= 0 {
		return below(under, "") + most, least
	}
	if 10*self < rest { // its name says nothing
		most = ""
	}
	return "spread over " + tabular.Plural(int64(len(s.self)), "function") + most, self
}

// polling names the call that waits for events and takes much of the CPU time of threads that hardly ever sleep: it
// returns at once, and they call it again. The time is 0 if there is none, or a thread's sleeps are not known.
func (s *Summary) polling() (text string, in int32, time int64) {
	if s.Part || s.OnlyValues != "" {
		return "", 0, 0
	}
	times := map[call]int64{}
	for p, v := range s.polls {
		if t := s.threads[p.thread]; 50*(t.wall-t.ready) <= t.wall {
			times[p.call] += v
		}
	}
	c, time := Largest(times, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.name, b.name))
	})
	if time == 0 || 10*time < 3*s.collectors[""] {
		return "", 0, 0
	}
	return percent(time, s.cpu) + " in " + s.function(c.from, "") + ", where " + c.name + " returns at once", c.from, time
}

// called names what a function's own time mostly is in: a function of libc, page faults, or else a library.
func (s *Summary) called(function int32) string {
	for _, calls := range []map[call]int64{s.inner, s.libraries} {
		for c, v := range calls {
			if c.from == function && c.name != "" && 2*v > s.self[function] {
				return ", mostly in " + tabular.Shorten(c.name, s.nameWidth*2/3) // its end says enough
			}
		}
	}
	return ""
}

// asleepIn names the function that sleeps, if most do in one, and the program's.
func (s *Summary) asleepIn(g *group) string {
	if in, most := Largest(g.in, strings.Compare); in != "" && 10*most >= 9*g.time {
		return " in " + tabular.Shorten(in, s.nameWidth) + s.within(g, "of")
	}
	return s.within(g, "in")
}

// who counts a group's threads and tasks.
func (s *Summary) who(g *group, length float64) string {
	n := int64(len(g.threads))
	text := tabular.Plural(n, "thread")
	if !s.brief {
		text = cmp.Or(s.ofPool(g), text)
	}
	if mean := float64(g.time-g.tasks) / length; n > 1 && mean < 0.75*float64(n) && !s.brief {
		text += " (" + twoDigits(mean) + " at a time)"
	}
	if g.tasks == 0 {
		return text
	}
	tasks := "about " + tabular.Plural(max(1, int64(math.Round(float64(g.tasks)/length))), g.task)
	if n == 0 {
		return tasks
	}
	return text + ", " + tasks
}

// twoDigits has two significant digits below 10, else whole numbers.
func twoDigits(n float64) string {
	if n >= 10 {
		return tabular.Thousands(int64(math.Round(n)))
	}
	return fmt.Sprintf("%.2g", n)
}

// verb has the form for one or several.
func (g *group) verb(text string) string {
	if len(g.threads) == 1 && g.tasks == 0 {
		return text + "s"
	}
	return text
}

// intensity is the share of its threads' time that a group has.
func (g *group) intensity(length float64) float64 {
	if g.tasks > 0 {
		return 1
	}
	return float64(g.time) / length / float64(max(1, len(g.threads)))
}

// within names the function that waits, if most do in one.
func (s *Summary) within(g *group, preposition string) string {
	f, most := Largest(g.functions, cmp.Compare)
	switch {
	case 10*most >= 9*g.time:
		return " " + preposition + " " + s.function(f, "")
	case 2*most > g.time:
		return ", mostly " + preposition + " " + s.function(f, "")
	case len(g.functions) == 2:
		return " " + preposition + " " + s.function(f, "") + " and " + s.function(byValue(g.functions)[1], "")
	case len(g.functions) > 2:
		return fmt.Sprintf(" %s %d functions", preposition, len(g.functions))
	}
	return ""
}

func (s *Summary) waiting(g *group, length float64) string {
	text := s.who(g, length)
	if bursts := s.Bursts(g.key.call, g.key.object); bursts != "" {
		more, bracketed := strings.CutSuffix(text, ")")
		text = more + map[bool]string{true: ", ", false: " ("}[bracketed] + bursts + ")"
	}
	switch {
	case g.key.call == readyTask && g.task == languages.CoroutineTask:
		text += " for the event loop" + s.within(g, "in")
		if asleep := s.of(sleep); asleep != nil && len(asleep.threads) > 0 {
			text += "; " + s.who(asleep, length) + asleep.verb(" sleep") + s.asleepIn(asleep)
		}
	case g.lock:
		text += " for " + s.lockName(g) + s.within(g, "in") + s.heldBy(g)
	default:
		text += " in " + g.key.call
		if object := cmp.Or(g.key.object, g.key.in); object != "" {
			text += " (" + s.shortened(object) + ")"
		}
		text += s.within(g, "of")
	}
	if g.key.guess != "" {
		text += ", idle? only that name says so"
	}
	return text
}

// next names the command that may know, while the wait lasts, the owner of a lock that recordings do not know,
// and the flag that records an awaited child.
func (s *Summary) next(g *group, length float64) []string {
	call, object := g.key.call, g.key.object
	if strings.HasPrefix(object, string(waits.Child)+" ") {
		return []string{"children are not recorded (--children)"}
	}
	dumpKnows := object == AClass || object == languages.PythonLock || strings.HasPrefix(call, "sync.Mutex.") ||
		strings.HasPrefix(call, "sync.RWMutex.")
	if dumpKnows && g.intensity(length) >= 0.95 && s.Bursts(call, object) == "" && s.heldBy(g) == "" {
		return []string{"see dump --locks while it waits"}
	}
	return nil
}

// shortened is for use in brackets. The processes at an address come with full names only.
func (s *Summary) shortened(object string) string {
	bare := processes.ReplaceAllString(object, "")
	if bare != object && s.nameWidth == widths[0].name {
		return processID.ReplaceAllString(object, ", $1")
	}
	text := processID.ReplaceAllString(bare, ", $1")
	if !tabular.Fits(text, s.nameWidth) {
		text = strings.TrimPrefix(processID.ReplaceAllString(bare, ""), AResponse)
	}
	return tabular.Shorten(text, s.nameWidth)
}

var (
	processID = regexp.MustCompile(` \((pid \d+|\d+ processes)\)`)
	// processes are all that an address has.
	processes = regexp.MustCompile(` = [^,=]*` + processID.String() + `(, [^,=]*` + processID.String() +
		`)*(, \d+ others?)?`)
)

func isLock(w *Wait) bool { return w.Kind.IsSynchronization() || strings.HasPrefix(w.Call, "sync.") }

var (
	java        = regexp.MustCompile(`^(?:park|monitor) `)
	javaPackage = regexp.MustCompile(`\b(?:[a-z]\w*\.)+`)
)

func (s *Summary) lockName(g *group) string {
	object := g.key.object
	if java.MatchString(object) {
		object = javaPackage.ReplaceAllString(strings.TrimPrefix(object, string(waits.Park)+" "), "")
		object = strings.Replace(object, " Class for ", " of class ", 1)
	}
	if path, ok := strings.CutPrefix(object, string(waits.FileLock)+" "); ok {
		return "file lock " + tabular.Shorten(path, s.nameWidth-len("file lock "))
	}
	switch name := cmp.Or(g.key.in, object); name {
	case "":
		return g.key.call
	case string(waits.GIL):
		return "the GIL"
	default:
		return tabular.Shorten(name, s.nameWidth)
	}
}

// more are the first waits that have a clause.
func (s *Summary) more(groups []*group, length float64) (clauses []string) {
	for i, g := range groups {
		if float64(g.time) >= clauseFrom*length && i < 2 {
			clauses = append(clauses, s.waiting(g, length))
		}
	}
	return clauses
}

var idleFor = map[string]string{
	waits.IdleEventLoop: "events", waits.IdleAccept: "connections", waits.IdleSignal: "signals", waits.IdlePool: "work",
	waits.IdleConnection: "messages", waits.IdleForever: "nothing",
}

type outside struct {
	of   class
	time int64
	text string
}

// asleep describes threads outside of work, those with most time first, and the run-time system's last.
func (s *Summary) asleep(length float64) (parts []outside) {
	add := func(g *group, text string) {
		parts = append(parts, outside{g.key.class, g.time, s.who(g, length) + text})
	}
	for _, c := range []struct {
		of         class
		verb, what string
	}{{sleep, " sleep", ""}, {unknown, " sleep", ", for what is not known"},
		{others, " wait", ", for threads or child processes"}} {
		if g := s.of(c.of); g != nil && float64(g.time) >= 0.1*length {
			add(g, g.verb(c.verb)+s.asleepIn(g)+c.what)
		}
	}
	if g := s.of(idle); g != nil {
		var what []string
		for _, rule := range byValue(s.rules) {
			if name := idleFor[rule]; name != "" && 20*s.rules[rule] >= g.time && len(what) < 2 {
				what = append(what, name)
			}
		}
		add(g, g.verb(" wait")+" for "+strings.Join(what, " or "))
	}
	slices.SortStableFunc(parts, func(a, b outside) int { return cmp.Compare(b.time, a.time) })
	if g := s.of(machinery); g != nil {
		add(g, " of the run-time system")
	}
	return parts
}
