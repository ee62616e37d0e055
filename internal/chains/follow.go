// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sort"

	"prywalk/internal/waits"
)

// segment is one interval of a thread or, of a process, a time in which so many threads are not idle; interval is that
// of the only one.
type segment struct {
	from, to int64
	interval int
	threads  int
	guess    bool // other threads are idle
}

type builder struct {
	all       []Interval
	period    int64
	threads   map[int][]segment // by ID
	processes map[int][]segment // by PID, made when used
	byPID     map[int][]int     // intervals of threads
	members   map[int][]int     // threads by PID
	locks     map[lockKey][]int // intervals, in order of time
	atEnd     map[lockKey]int   // the only thread that waits at a descriptor; 0: there are several
	waiting   []int             // 1 + links by interval, of blocked and of other time; 0: not known yet
	active    []int
	links     []Link
	numbers   map[linkKey]int
	nodes     map[node]int
	parents   []node
	ends      map[endKey]*leaf
	order     []endKey
	start     int // the thread whose blocked time is followed
	steps     int
}

type lockKey struct {
	pid  int
	lock string
}

type linkKey struct {
	pid                             int
	task                            uint64
	comm, function, waitsFor, guess string
}

// node is a link below another node of the tree of all ways; 0 is the root.
type node struct{ parent, link int }

type endKey struct {
	node int
	kind Kind
	why  string
}

type leaf struct {
	value   int64
	threads int
	last    int // the thread that was counted last
}

// piece is a part of an interval's blocked time that is to be followed.
type piece struct {
	interval, node, prev, depth int
	from, to, value             int64
}

// maxSteps bounds the time for all chains, maxLaterWaits that for one wait.
const (
	maxSteps      = 1 << 25
	maxLaterWaits = 1 << 12
)

// ErrTooMany reports that the waits overlap too often.
var ErrTooMany = errors.New("too many overlapping waits to follow; select a part of the recording with --from and --to")

// Build follows the blocked time of all intervals that are not idle. period is the time between two looks at a thread,
// ns; 0: all intervals are of one moment. The only error is [ErrTooMany].
func Build(all []Interval, period int64) (*Report, error) {
	b := newBuilder(all, period)
	starts := make([]int, 0, len(all))
	for i := range all {
		if all[i].starts() {
			starts = append(starts, i)
		}
	}
	slices.SortStableFunc(starts, func(x, y int) int { return cmp.Compare(all[x].ID, all[y].ID) })
	var pieces []piece
	for _, i := range starts {
		iv := &all[i]
		b.start = iv.ID
		pieces = append(pieces[:0], piece{i, 0, -1, 0, iv.From, iv.To, iv.Blocked})
		for n := 0; n < len(pieces); n++ {
			if b.steps++; b.steps > maxSteps {
				return nil, ErrTooMany
			}
			pieces = b.follow(pieces, n)
		}
	}
	return b.report(), nil
}

func (iv *Interval) starts() bool { return iv.Blocked > 0 && iv.Idle == "" && !iv.Passed }

func newBuilder(all []Interval, period int64) *builder {
	b := &builder{all: all, period: period, waiting: make([]int, len(all)), active: make([]int, len(all)),
		threads: map[int][]segment{}, processes: map[int][]segment{}, byPID: map[int][]int{}, members: map[int][]int{},
		locks: map[lockKey][]int{}, atEnd: map[lockKey]int{}, numbers: map[linkKey]int{}, nodes: map[node]int{},
		parents: []node{{}}, ends: map[endKey]*leaf{}}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(all[x].From, all[y].From) })
	for _, i := range order {
		iv := &all[i]
		if iv.ID > 0 {
			b.byPID[iv.PID] = append(b.byPID[iv.PID], i)
			if len(b.threads[iv.ID]) == 0 {
				b.members[iv.PID] = append(b.members[iv.PID], iv.ID)
			}
		}
		b.threads[iv.ID] = append(b.threads[iv.ID], segment{from: iv.From, to: iv.To, interval: i, threads: 1})
		if d := iv.Next.Descriptor; d != "" {
			if id, ok := b.atEnd[lockKey{iv.PID, d}]; !ok || id == iv.ID {
				b.atEnd[lockKey{iv.PID, d}] = iv.ID
			} else {
				b.atEnd[lockKey{iv.PID, d}] = 0
			}
		}
		if iv.Next.Lock != "" {
			k := lockKey{iv.PID, iv.Next.Lock}
			b.locks[k] = append(b.locks[k], i)
		}
	}
	return b
}

// follow ends the piece pieces[n], or appends what it leads to.
func (b *builder) follow(pieces []piece, n int) []piece {
	p := pieces[n]
	iv := &b.all[p.interval]
	next := &iv.Next
	switch {
	case p.depth >= MaxLinks:
		b.end(b.asleep(p.node, p.interval), End{Kind: Unknown, Why: "the chain has more links than are followed"}, p.value)
	case next.Lock != "":
		pieces = b.followOwners(pieces, n)
	case next.Thread != 0:
		pieces = b.enter(pieces, n, b.asleep(p.node, p.interval), b.threads[next.Thread], p, "the owner was not seen then")
	case len(next.Processes) > 0:
		pieces = b.followProcess(pieces, n)
	default:
		b.end(b.asleep(p.node, p.interval), next.End, p.value)
	}
	return pieces
}

// followOwners divides a wait for a lock by the owners that it and later waits for the lock have seen.
func (b *builder) followOwners(pieces []piece, n int) []piece {
	p := pieces[n]
	iv := &b.all[p.interval]
	at := b.asleep(p.node, p.interval)
	given, whole := int64(0), max(1, p.to-p.from)
	part := func(of *Interval, from, to int64) {
		if to <= from && p.to > p.from {
			return
		}
		q := p
		q.from, q.to, q.value = from, to, int64(float64(p.value)*(float64(to-from)/float64(whole)))
		if to >= p.to {
			q.value = p.value - given
		}
		given += q.value
		if of.Next.Thread == 0 {
			b.end(at, of.Next.End, q.value)
			return
		}
		pieces = b.enter(pieces, n, at, b.threads[of.Next.Thread], q, "the owner was not seen then")
	}
	list := b.locks[lockKey{iv.PID, iv.Next.Lock}]
	first := sort.Search(len(list), func(i int) bool { return b.all[list[i]].From > iv.From })
	owner, since := iv, p.from
	for _, i := range list[first:min(len(list), first+maxLaterWaits)] {
		later := &b.all[i]
		if b.steps++; later.From >= p.to {
			break
		}
		if later.Next.Thread != owner.Next.Thread && later.Next.Thread != iv.ID {
			part(owner, since, max(since, later.From))
			owner, since = later, max(since, later.From)
		}
	}
	part(owner, since, p.to)
	return pieces
}

func (b *builder) followProcess(pieces []piece, n int) []piece {
	p := pieces[n]
	iv := &b.all[p.interval]
	peer, why := b.peer(iv)
	link := iv.Link
	switch threads := len(b.members[peer.PID]); {
	case why != "":
		b.end(b.child(p.node, link), End{Kind: Unknown, Why: why}, p.value)
	case threads == 0:
		at := b.child(b.child(p.node, link), Link{PID: peer.PID, Comm: peer.Name})
		b.end(at, End{Kind: Outside}, p.value)
	case threads == 1:
		line := b.threads[b.members[peer.PID][0]]
		pieces = b.enter(pieces, n, b.child(p.node, link), line, p, "the process was not seen then")
	case b.atEnd[lockKey{peer.PID, iv.Next.OtherEnd}] > 0:
		id := b.atEnd[lockKey{peer.PID, iv.Next.OtherEnd}]
		link.Guess = "the only thread that was seen to wait at the other end"
		pieces = b.enter(pieces, n, b.child(p.node, link), b.threads[id], p, "the thread was not seen then")
	default:
		line := b.process(peer.PID)
		if slices.ContainsFunc(line, func(s segment) bool { return s.guess && s.from < p.to && s.to > p.from }) {
			link.Guess = "by which threads of " + peer.Name + " are not idle"
		}
		pieces = b.enter(pieces, n, b.child(p.node, link), line, p, "all threads of "+peer.Name+" are idle")
	}
	return pieces
}

// peer returns the only process that can end a wait. The waiting process itself cannot, if it has no other thread.
func (b *builder) peer(iv *Interval) (peer waits.Peer, why string) {
	seen := map[int]bool{}
	for _, p := range iv.Next.Processes {
		if !seen[p.PID] && (p.PID != iv.PID || len(b.members[p.PID]) > 1) {
			peer, seen[p.PID] = p, true
		}
	}
	switch {
	case len(seen) == 0:
		return peer, "only the process itself has the other end"
	case len(seen) > 1:
		return peer, "several processes have the other end"
	}
	return peer, ""
}

// enter divides a piece among the segments that overlap it. at is the node of the link before.
func (b *builder) enter(pieces []piece, n, at int, line []segment, p piece, unseen string) []piece {
	parts, gap := b.overlaps(line, p.from, p.to)
	whole := gap
	for _, s := range parts {
		whole += s.to - s.from
	}
	rest := p.value
	for i, s := range parts {
		value := int64(float64(p.value) * (float64(s.to-s.from) / float64(whole)))
		if gap == 0 && i == len(parts)-1 {
			value = rest
		}
		if rest -= value; s.threads == 1 {
			pieces = b.through(pieces, n, at, piece{s.interval, at, n, p.depth + 1, s.from, s.to, value})
		} else {
			b.end(at, End{Kind: Unknown, Why: "which thread of the process serves it is not known"}, value)
		}
	}
	b.end(at, End{Kind: Unknown, Why: unseen}, rest)
	return pieces
}

// overlaps returns the parts of segments from one time to another, and how much of that time has none, unless that is
// at most two periods: threads are looked at one after the other. A time of at most two periods is that of the look
// next to its end.
func (b *builder) overlaps(line []segment, from, to int64) (parts []segment, gap int64) {
	if b.period > 0 && to-from <= 2*b.period {
		if parts = nearest(line, to, b.period); len(parts) > 0 {
			return parts, 0
		}
		return nil, to - from
	}
	gap = to - from
	first := sort.Search(len(line), func(i int) bool { return line[i].to > from })
	for _, s := range line[first:] {
		if b.steps++; s.from >= to {
			break
		}
		s.from, s.to = max(s.from, from), min(s.to, to)
		gap -= s.to - s.from
		parts = append(parts, s)
	}
	if gap <= 2*b.period && len(parts) > 0 {
		gap = 0
	}
	return parts, gap
}

func nearest(line []segment, at, period int64) []segment {
	i := sort.Search(len(line), func(i int) bool { return line[i].to >= at })
	if i > 0 && (i == len(line) || at-line[i-1].to < min(period/2, line[i].to-at)) {
		i--
	}
	if i == len(line) || line[i].from > at+period || line[i].to < at-period {
		return nil
	}
	return line[i : i+1]
}

// through divides a piece by the clocks of the interval that it enters.
func (b *builder) through(pieces []piece, n, at int, p piece) []piece {
	iv := &b.all[p.interval]
	total := iv.Running + iv.Queued + iv.Blocked
	if total <= 0 {
		b.end(b.asleep(at, p.interval), End{Kind: Unknown, Why: "what the thread does is not known"}, p.value)
		return pieces
	}
	part := func(of int64) int64 { return int64(float64(p.value) * (float64(of) / float64(total))) }
	running, queued := part(iv.Running), part(iv.Queued)
	blocked := p.value - running - queued
	if iv.Blocked == 0 {
		running, blocked = running+blocked, 0
	}
	if running+queued > 0 {
		awake := b.awake(at, p.interval)
		b.end(awake, End{Kind: Running}, running)
		b.end(awake, End{Kind: Queued}, queued)
	}
	if p.value = blocked; blocked <= 0 {
		return pieces
	}
	from := &b.all[pieces[n].interval]
	if iv.Next.Lock != "" && iv.Next.Lock == from.Next.Lock && iv.PID == from.PID && !iv.Next.Final {
		b.end(at, End{Kind: Unknown, Why: "the owner had released the lock"}, blocked)
		return pieces
	}
	if iv.Idle != "" {
		b.end(b.asleep(at, p.interval), End{Kind: Unknown, Why: "it is idle: " + iv.Idle}, blocked)
		return pieces
	}
	final := iv.Next.Final && !b.isGuess(at)
	for q := n; q >= 0; q = pieces[q].prev {
		on := &b.all[pieces[q].interval]
		final = final && on.Next.Final
		if on.ID == iv.ID {
			end := End{Kind: Deadlock}
			if !final {
				end = End{Kind: Unknown, Why: "a cycle of waits, which is not proven to be a deadlock"}
			}
			b.end(b.asleep(at, p.interval), end, blocked)
			return pieces
		}
		final = final && !b.isGuess(pieces[q].node)
	}
	return append(pieces, p)
}

func (l *Link) key() linkKey {
	k := linkKey{pid: l.PID, task: l.Task, comm: l.Comm, function: l.Function, guess: l.Guess}
	if l.WaitsFor != nil {
		k.waitsFor = object(l.WaitsFor)
	}
	return k
}

func (b *builder) isGuess(at int) bool { return at != 0 && b.links[b.parents[at].link].Guess != "" }

// asleep and awake return the nodes of an interval below another node, for its blocked and its other time.
func (b *builder) asleep(parent, interval int) int { return b.cached(parent, interval, b.waiting) }

func (b *builder) awake(parent, interval int) int { return b.cached(parent, interval, b.active) }

func (b *builder) cached(parent, interval int, numbers []int) int {
	if numbers[interval] == 0 {
		l := b.all[interval].Link
		if &numbers[0] == &b.active[0] {
			l.WaitsFor, l.Guess = nil, ""
		}
		numbers[interval] = 1 + b.number(l)
	}
	return b.node(parent, numbers[interval]-1)
}

func (b *builder) child(parent int, l Link) int { return b.node(parent, b.number(l)) }

func (b *builder) number(l Link) int {
	k := l.key()
	link, ok := b.numbers[k]
	if !ok {
		link = len(b.links)
		b.links, b.numbers[k] = append(b.links, l), link
	} else if b.links[link].TID != l.TID {
		b.links[link].TID = 0
	}
	return link
}

func (b *builder) node(parent, link int) int {
	at, ok := b.nodes[node{parent, link}]
	if !ok {
		at = len(b.parents)
		b.parents, b.nodes[node{parent, link}] = append(b.parents, node{parent, link}), at
	}
	return at
}

// end adds blocked time to an end, whose thread is that of a node's link.
func (b *builder) end(at int, e End, value int64) {
	if value <= 0 {
		return
	}
	k := endKey{at, e.Kind, e.Why}
	if b.ends[k] == nil {
		b.ends[k] = &leaf{}
		b.order = append(b.order, k)
	}
	l := b.ends[k]
	if l.value += value; l.last != b.start {
		l.last = b.start
		l.threads++
	}
}

// maxCandidates bounds the threads of a process among which the one that serves a request is searched.
const maxCandidates = 16

// process returns the times in which threads of a process are not idle.
func (b *builder) process(pid int) []segment {
	if line, ok := b.processes[pid]; ok {
		return line
	}
	type edge struct {
		at       int64
		interval int
		begins   bool
	}
	var edges []edge
	for _, i := range b.byPID[pid] {
		if iv := &b.all[i]; iv.To > iv.From {
			edges = append(edges, edge{iv.From, i, true}, edge{iv.To, i, false})
		}
	}
	slices.SortStableFunc(edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	line, idle, busy := []segment{}, 0, map[int]bool{}
	for n, e := range edges {
		if n > 0 && len(busy) > 0 && edges[n-1].at < e.at {
			s := segment{from: edges[n-1].at, to: e.at, threads: len(busy)}
			if i, ok := b.serving(busy); ok {
				s.interval, s.threads, s.guess = i, 1, idle > 0
			}
			line = append(line, s)
		}
		isIdle := b.all[e.interval].Idle != "" && b.all[e.interval].Running == 0
		switch {
		case isIdle && e.begins:
			idle++
		case isIdle:
			idle--
		case e.begins:
			busy[e.interval] = true
		default:
			delete(busy, e.interval)
		}
	}
	b.processes[pid] = line
	return line
}

// serving returns the interval of the thread through which a request goes if all busy ones of a process are on one way:
// the first one of that, or if several wait for one, that one.
func (b *builder) serving(busy map[int]bool) (interval int, ok bool) {
	if len(busy) > maxCandidates {
		return 0, false
	}
	byID, next := map[int]int{}, map[int]int{}
	for i := range busy {
		byID[b.all[i].ID] = i
	}
	firsts := maps.Clone(busy)
	for i := range busy {
		if j, ok := byID[b.all[i].Next.Thread]; ok && j != i && b.all[i].Blocked > 0 {
			next[i] = j
			delete(firsts, j)
		}
	}
	ends := map[int]bool{}
	for i := range busy {
		at := i
		for range len(busy) {
			if j, ok := next[at]; ok {
				at = j
			}
		}
		if _, ok := next[at]; ok { // in a cycle
			at = slices.Min(slices.Collect(maps.Keys(busy)))
		}
		ends[at] = true
	}
	if len(ends) != 1 {
		return 0, false
	}
	if len(firsts) == 1 {
		ends = firsts
	}
	for i := range ends {
		interval = i
	}
	return interval, true
}

// Cycles returns the cycles of threads of one moment whose waits all may be final: each waits for the next one.
func Cycles(all []Interval) [][]int {
	b, waitsFor := newBuilder(all, 0), map[int]int{}
	for i := range all {
		next := &all[i].Next
		if !next.Final || all[i].Link.Guess != "" {
			continue
		}
		if next.Thread != 0 {
			waitsFor[all[i].ID] = next.Thread
		} else if peer, why := b.peer(&all[i]); why == "" {
			if line := b.process(peer.PID); len(line) == 1 && line[0].threads == 1 && !line[0].guess {
				waitsFor[all[i].ID] = all[line[0].interval].ID
			}
		}
	}
	return waits.Cycles(waitsFor)
}
