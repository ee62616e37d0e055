// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"prywalk/internal/walk/waits"
)

// segment is an interval of a thread, or a time in which at least one thread of a process is not idle. In the second
// case interval is that of the thread that serves a request, or nil if that thread is not known.
type segment struct {
	from, to int64
	interval *Interval
	guess    bool // other threads are idle
}

type process struct {
	intervals []*Interval // in order of time
	threads   []int
	busy      []segment // nil until used
}

type builder struct {
	period    int64
	length    int64             // of all intervals, at least 1
	threads   map[int][]segment // by ID
	processes map[int]*process
	locks     map[lockKey][]*Interval // in order of time
	atEnd     map[lockKey]int         // the only thread or task that waits at a descriptor; 0 if there are several
	links     map[string]*Link        // by text without TID
	nodes     map[node]*node
	ends      map[endKey]*Chain
	order     []*Chain
	start     int // the thread whose blocked time is followed
	count     int // of threads or tasks in start's interval; 0 if that is not known
	steps     int
}

type lockKey struct {
	pid  int
	lock string
}

// node is a link of the tree of all ways; the parent of the first ones is nil.
type node struct {
	parent *node
	link   *Link
}

type endKey struct {
	way  *node
	kind Kind
	why  string
}

// piece is a part of an interval's blocked time that is to be followed.
type piece struct {
	interval        *Interval
	way             *node  // to the link before
	prev            *piece // of the link before
	depth           int
	from, to, value int64
}

// maxSteps bounds the time for all chains, maxNodes their memory, maxLaterWaits the time for one wait.
const (
	maxSteps      = 1 << 25
	maxNodes      = 1 << 22
	maxLaterWaits = 1 << 12
)

// ErrTooMany reports that the waits overlap too often.
var ErrTooMany = errors.New("too many overlapping waits to follow; select a part of the recording with --from and --to")

// Build follows the blocked time of all intervals that are not idle. period is the time between two samples of a
// thread, in nanoseconds; 0 means that all intervals are of one moment. The only error is [ErrTooMany].
func Build(all []Interval, period int64) (*Report, error) {
	b := newBuilder(all, period)
	var starts []*Interval
	for i := range all {
		if iv := &all[i]; iv.Blocked > 0 && iv.Idle == "" && !iv.Passed && !iv.Apart {
			starts = append(starts, iv)
		}
	}
	slices.SortStableFunc(starts, func(x, y *Interval) int { return cmp.Compare(x.ID, y.ID) })
	threads, tasks, unlabeled := 0, false, int64(0)
	for i, iv := range starts {
		tasks = tasks || iv.ID < 0
		switch b.start, b.count = iv.ID, max(1, iv.Count); {
		case period > 0 && iv.ID == Unlabeled(iv.PID):
			b.count = 0
			unlabeled += iv.Blocked
		case i == 0 || iv.ID != starts[i-1].ID:
			threads += b.count
		}
		if b.follow(&piece{interval: iv, from: iv.From, to: iv.To, value: iv.Blocked}); b.tooMany() {
			return nil, ErrTooMany
		}
	}
	return b.report(all, threads+b.mean(unlabeled), tasks), nil
}

// mean returns how many tasks without an ID were blocked at once, rounded up, by their blocked time in nanoseconds.
func (b *builder) mean(unlabeled int64) int { return int((unlabeled + b.length - 1) / b.length) }

func (b *builder) tooMany() bool { return b.steps > maxSteps || len(b.nodes) > maxNodes }

func newBuilder(all []Interval, period int64) *builder {
	b := &builder{period: period, threads: map[int][]segment{}, processes: map[int]*process{},
		locks: map[lockKey][]*Interval{}, atEnd: map[lockKey]int{}, links: map[string]*Link{}, nodes: map[node]*node{},
		ends: map[endKey]*Chain{}}
	var shared []int // IDs of names that several tasks have at one time
	order := make([]*Interval, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortStableFunc(order, func(x, y *Interval) int { return cmp.Compare(x.From, y.From) })
	b.length = 1
	for _, iv := range order {
		b.length = max(b.length, iv.To-order[0].From)
		if iv.ID > 0 {
			p := b.processes[iv.PID]
			if p == nil {
				p = &process{}
				b.processes[iv.PID] = p
			}
			p.intervals = append(p.intervals, iv)
			if len(b.threads[iv.ID]) == 0 {
				p.threads = append(p.threads, iv.ID)
			}
		}
		if list := b.threads[iv.ID]; iv.ID < firstTask && len(list) > 0 && list[len(list)-1].to > iv.From {
			shared = append(shared, iv.ID)
		}
		line := segment{from: iv.From, to: iv.To, interval: iv}
		b.threads[iv.ID] = append(b.threads[iv.ID], line)
		if iv.Task != 0 {
			b.threads[iv.Task] = append(b.threads[iv.Task], line)
		}
		if k := (lockKey{iv.PID, iv.Next.Descriptor}); k.lock != "" {
			reader := cmp.Or(iv.Task, iv.ID)
			if id, ok := b.atEnd[k]; ok && id != reader {
				reader = 0
			}
			b.atEnd[k] = reader
		}
		if k := (lockKey{iv.PID, iv.Next.Lock}); k.lock != "" {
			b.locks[k] = append(b.locks[k], iv)
		}
	}
	for _, id := range shared {
		delete(b.threads, id)
	}
	return b
}

// follow ends a piece, or follows what it leads to.
func (b *builder) follow(p *piece) {
	switch b.steps++; {
	case b.tooMany():
	case p.depth >= maxLinks:
		b.unknown(b.asleep(p), "the chain has more links than are followed", p.value)
	case p.interval.Next.Lock == "" && p.interval.Next.Thread == 0 && len(p.interval.Next.Processes) > 0:
		b.followProcess(p)
	default:
		b.followOwners(p)
	}
}

func share(value, part, whole int64) int64 {
	return int64(float64(value) * (float64(part) / float64(whole)))
}

// followOwners divides a wait by the owners that it and later waits for the lock have seen.
func (b *builder) followOwners(p *piece) {
	way, owner, from, rest := b.asleep(p), &p.interval.Next, p.from, p.value
	part := func(to, value int64) {
		if rest -= value; owner.Thread == 0 {
			b.end(way, owner.End, value)
			return
		}
		q := *p
		q.from, q.to, q.value = from, to, value
		unseen := "the owner was not seen then"
		switch {
		case owner.Thread < firstTask && p.interval.Link.Guess != "":
			unseen = "the likely owner was not seen, or is one of several"
		case owner.Thread < firstTask:
			unseen = "the awaited task ran, was not seen, or shares its name"
		}
		b.enter(&q, way, b.threads[owner.Thread], unseen)
	}
	list := b.locks[lockKey{p.interval.PID, p.interval.Next.Lock}]
	first := sort.Search(len(list), func(i int) bool { return list[i].From > p.interval.From })
	for _, later := range list[first:min(len(list), first+maxLaterWaits)] {
		if b.steps++; later.From >= p.to {
			break
		}
		if later.Next.Thread == owner.Thread || later.Next.Thread == p.interval.ID {
			continue
		}
		if later.From > from {
			part(later.From, share(p.value, later.From-from, p.to-p.from))
			from = later.From
		}
		owner = &later.Next
	}
	part(p.to, rest)
}

func (b *builder) followProcess(p *piece) {
	peer, why := b.peer(p.interval)
	of, link := b.processes[peer.PID], p.interval.Link
	var line []segment
	switch id := b.atEnd[lockKey{peer.PID, p.interval.Next.OtherEnd}]; {
	case why != "":
	case of == nil:
		b.end(b.child(b.child(p.way, link), Link{PID: peer.PID, Comm: peer.Name}), End{Kind: Outside}, p.value)
		return
	case len(of.threads) == 1:
		line, why = b.threads[of.threads[0]], "the process was not seen then"
	case id != 0:
		line, why = b.threads[id], "the thread was not seen then"
		link.Guess = "the only thread that was seen to wait at the other end"
	default:
		line, why = of.busySegments(), "no thread of "+peer.Name+" was seen that is not idle"
		parts, _ := b.overlaps(line, p.from, p.to)
		if slices.ContainsFunc(parts, func(s segment) bool { return s.guess }) {
			link.Guess = "by which threads of " + peer.Name + " are not idle"
		}
	}
	b.enter(p, b.child(p.way, link), line, why)
}

// peer returns the only process that can end a wait. The waiting process itself cannot, if it has no other thread.
func (b *builder) peer(iv *Interval) (peer waits.Peer, why string) {
	why = "only the process itself has the other end"
	for _, p := range iv.Next.Processes {
		switch {
		case p.PID == iv.PID && (b.processes[p.PID] == nil || len(b.processes[p.PID].threads) <= 1):
		case why == "" && p.PID != peer.PID:
			return b.peerAtEnd(iv)
		default:
			peer, why = p, ""
		}
	}
	return peer, why
}

// peerAtEnd returns the only one of several processes, all of them looked at, with a thread at the other end: children
// have copies of their parents' pipes.
func (b *builder) peerAtEnd(iv *Interval) (peer waits.Peer, why string) {
	for _, p := range iv.Next.Processes {
		switch id, ok := b.atEnd[lockKey{p.PID, iv.Next.OtherEnd}]; {
		case b.processes[p.PID] == nil, ok && id == 0, ok && peer.PID != 0:
			return waits.Peer{}, "several processes have the other end"
		case ok:
			peer = p
		}
	}
	if peer.PID == 0 {
		why = fmt.Sprintf("of %d processes with the other end, none was seen to use it", len(iv.Next.Processes))
	}
	return peer, why
}

// unserved says why no thread is known, and that the process itself waits for this chain.
func unserved(p *piece) string {
	const why = "which thread of the process serves it is not known"
	for q := p.prev; q != nil; q = q.prev {
		if slices.ContainsFunc(p.interval.Next.Processes, func(x waits.Peer) bool { return x.PID == q.interval.PID }) {
			return why + "; one of its threads waits for this chain: perhaps a cycle"
		}
	}
	return why
}

// enter divides a piece among the segments that overlap it. way leads to its own link.
func (b *builder) enter(p *piece, way *node, line []segment, unseen string) {
	parts, whole := b.overlaps(line, p.from, p.to)
	rest, left := p.value, whole
	for _, s := range parts {
		value := share(p.value, s.to-s.from, whole)
		if left -= s.to - s.from; left == 0 {
			value = rest
		}
		rest -= value
		if s.interval == nil {
			b.unknown(way, unserved(p), value)
			continue
		}
		b.through(&piece{s.interval, way, p, p.depth + 1, s.from, s.to, value})
	}
	b.unknown(way, unseen, rest)
}

// overlaps returns the parts of segments from one time to another, and the time that they and gaps between them have.
// There is no gap up to two periods: threads are looked at one after the other. A time of at most two periods is that
// of the look next to its end.
func (b *builder) overlaps(line []segment, from, to int64) (parts []segment, whole int64) {
	if b.period > 0 && to-from <= 2*b.period {
		if s, ok := nearest(line, to, b.period); ok {
			return []segment{s}, s.to - s.from
		}
		return nil, to - from
	}
	first := sort.Search(len(line), func(i int) bool { return line[i].to > from })
	for _, s := range line[first:] {
		if b.steps++; s.from >= to {
			break
		}
		s.from, s.to = max(s.from, from), min(s.to, to)
		whole += s.to - s.from
		parts = append(parts, s)
	}
	if len(parts) == 0 || to-from-whole > 2*b.period {
		whole = to - from
	}
	return parts, whole
}

func nearest(line []segment, at, period int64) (s segment, ok bool) {
	i := sort.Search(len(line), func(i int) bool { return line[i].to >= at })
	if i > 0 && (i == len(line) || at-line[i-1].to < min(period/2, line[i].to-at)) {
		i--
	}
	if i == len(line) || line[i].from > at+period || line[i].to < at-period {
		return s, false
	}
	return line[i], true
}

// through divides the time of a piece among running, queued and blocked, in the proportions of the interval that the
// chain has reached. Running and queued end the chain; the blocked part follows the next wait.
func (b *builder) through(p *piece) {
	total := p.interval.Running + p.interval.Queued + p.interval.Blocked
	if total <= 0 {
		b.unknown(b.asleep(p), "what the thread does is not known", p.value)
		return
	}
	running, queued := share(p.value, p.interval.Running, total), share(p.value, p.interval.Queued, total)
	blocked := p.value - running - queued
	if p.interval.Blocked == 0 {
		running, blocked = running+blocked, 0
	}
	if running+queued > 0 {
		awake := b.awake(p)
		b.end(awake, End{Kind: Running}, running)
		b.end(awake, End{Kind: Queued}, queued)
	}
	p.value = blocked
	switch from := p.prev; {
	case blocked <= 0:
	case p.interval.Next.Lock != "" && p.interval.Next.Lock == from.interval.Next.Lock &&
		p.interval.PID == from.interval.PID && !p.interval.Next.Final:
		b.unknown(p.way, "the owner had released the lock", blocked)
	case p.interval.Idle != "":
		b.unknown(b.asleep(p), "it is idle: "+p.interval.Idle, blocked)
	default:
		final := p.interval.Next.Final && !p.way.isGuess()
		for q := from; q != nil; q = q.prev {
			final = final && q.interval.Next.Final
			if q.interval.ID != p.interval.ID {
				final = final && !q.way.isGuess()
				continue
			}
			if final {
				b.end(b.asleep(p), End{Kind: Deadlock}, blocked)
			} else {
				b.unknown(b.asleep(p), "a cycle of waits, which is not proven to be a deadlock", blocked)
			}
			return
		}
		b.follow(p)
	}
}

func (n *node) isGuess() bool { return n != nil && n.link.Guess != "" }

// asleep and awake return the nodes of an interval below another node, for its blocked and its other time.
func (b *builder) asleep(p *piece) *node {
	if p.interval.asleep == nil {
		p.interval.asleep = b.link(p.interval.Link)
	}
	return b.node(p.way, p.interval.asleep)
}

func (b *builder) awake(p *piece) *node {
	if p.interval.awake == nil {
		l := p.interval.Link
		l.WaitsFor, l.Guess = nil, ""
		p.interval.awake = b.link(l)
	}
	return b.node(p.way, p.interval.awake)
}

func (b *builder) child(parent *node, l Link) *node { return b.node(parent, b.link(l)) }

func (b *builder) link(l Link) *Link {
	tid, name := l.TID, l.TaskName
	l.TID, l.TaskName = 0, ""
	text := l.text()
	l.TID, l.TaskName = tid, name
	if b.links[text] == nil {
		b.links[text] = &l
	} else if known := b.links[text]; known.TID != tid || known.TaskName != name {
		known.TID, known.TaskName = 0, ""
	}
	return b.links[text]
}

func (b *builder) node(parent *node, l *Link) *node {
	n := node{parent, l}
	if b.nodes[n] == nil {
		b.nodes[n] = &node{parent, l}
	}
	return b.nodes[n]
}

func (b *builder) unknown(way *node, why string, value int64) {
	b.end(way, End{Kind: Unknown, Why: why}, value)
}

// end adds blocked time to the chain of a way and an end, whose thread is that of the way's last link.
func (b *builder) end(way *node, e End, value int64) {
	if value <= 0 {
		return
	}
	k := endKey{way, e.Kind, e.Why}
	c := b.ends[k]
	if c == nil {
		c = &Chain{End: e, way: way}
		b.ends[k], b.order = c, append(b.order, c)
	}
	c.Blocked += value
	n := len(c.starts)
	switch {
	case b.count == 0:
		c.unlabeled += value
	case n == 0 || c.starts[n-1].id != b.start:
		c.starts = append(c.starts, counted{b.start, b.count})
		c.Threads += b.count
	}
}

// maxCandidates bounds the threads of a process among which the one that serves a request is searched.
const maxCandidates = 16

// busySegments returns the times in which threads of a process are not idle.
func (p *process) busySegments() []segment {
	if p.busy != nil {
		return p.busy
	}
	type edge struct {
		at       int64
		interval *Interval
		begins   bool
	}
	var edges []edge
	for _, iv := range p.intervals {
		if iv.To > iv.From {
			edges = append(edges, edge{iv.From, iv, true}, edge{iv.To, iv, false})
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	idle, busy := 0, map[int]*Interval{}
	p.busy = []segment{}
	for n, e := range edges {
		if n > 0 && len(busy) > 0 && edges[n-1].at < e.at {
			iv := serving(busy)
			p.busy = append(p.busy, segment{edges[n-1].at, e.at, iv, iv != nil && idle > 0})
		}
		switch isIdle := e.interval.Apart || e.interval.Idle != "" && e.interval.Running == 0; {
		case isIdle && e.begins:
			idle++
		case isIdle:
			idle--
		case e.begins:
			busy[e.interval.ID] = e.interval
		case busy[e.interval.ID] == e.interval:
			delete(busy, e.interval.ID)
		}
	}
	return p.busy
}

// serving guesses which thread of a process serves a request. It takes the threads that are not idle, and follows who
// waits for whom. If all end at one thread, it returns the only one for which none waits, or, if there are several of
// those, the thread at the end. If they end at different threads, it returns nil.
func serving(busy map[int]*Interval) *Interval {
	if len(busy) > maxCandidates {
		return nil
	}
	waitsFor, waitedFor := map[int]int{}, map[int]bool{}
	for id, iv := range busy {
		if next := iv.Next.Thread; busy[next] != nil && next != id && iv.Blocked > 0 {
			waitsFor[id], waitedFor[next] = next, true
		}
	}
	ends := waits.Cycles(waitsFor)
	var firsts []int
	for id := range busy {
		if _, ok := waitsFor[id]; !ok {
			ends = append(ends, []int{id})
		}
		if !waitedFor[id] {
			firsts = append(firsts, id)
		}
	}
	switch {
	case len(ends) != 1:
		return nil
	case len(firsts) == 1:
		return busy[firsts[0]]
	}
	return busy[ends[0][0]]
}

// Cycles returns the cycles of threads of one moment whose waits all may be final: each waits for the next one.
func Cycles(all []Interval) [][]int {
	b, waitsFor := newBuilder(all, 0), map[int]int{}
	for i := range all {
		iv := &all[i]
		if !iv.Next.Final || iv.Link.Guess != "" {
			continue
		}
		if iv.Next.Thread != 0 {
			waitsFor[iv.ID] = iv.Next.Thread
		} else if peer, why := b.peer(iv); why == "" && b.processes[peer.PID] != nil {
			line := b.processes[peer.PID].busySegments()
			if len(line) == 1 && line[0].interval != nil && !line[0].guess {
				waitsFor[iv.ID] = line[0].interval.ID
			}
		}
	}
	return waits.Cycles(waitsFor)
}
