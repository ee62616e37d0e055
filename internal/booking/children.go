package booking

// # Samples of children that nobody met
//
// With the kernel's samples it is known what children did that ended before anyone could look at them: each sample
// stands for one period. What they used in all is known when their parent has waited for them ([Family]). That is
// shared out among the samples. All of the children's time is sampled alike. So what is more than the samples stand
// for is left as [ShortLivedChildren] only as far as it is more than the error of sampling.

// samplesError is how many standard errors of the samples' number a difference may have that is taken for chance. One
// in 40 recordings has a larger one by chance.
const samplesError = 2

//
// # Children that ticks met
//
// Without the kernel's samples a tick still finds such a child among the processes that were just born. One that is on
// a processor then stands for the time between two ticks, as a look does. Mostly a look tells its stack; without one,
// what it runs is known ([Seen.Only]). What is unseen of children that were opened and ended soon is put together with
// that. The rest is as with samples.

// ClaimOfChild takes note of a sample of a child that nobody met, or of a tick that found it on a processor. It stands
// for one period.
func (p *Process) ClaimOfChild(where Seen, at, period int64) { p.kids.add(where, at, period) }

// PassChildrenTo gives what [Process.Children] would book to the process that waited for this one.
func (p *Process) PassChildrenTo(to *Process, ns int64) {
	to.kids.join(&p.kids)
	to.passedOn += p.passedOn + ns
	to.kidsSkidded += p.kidsSkidded
	p.passedOn, p.kidsSkidded = 0, 0
}

// shortProcess is from how many periods of processor time on a process's own samples say where its time went.
const shortProcess = 16

// PassTo gives what is unseen of a child that was met, with what has a claim on it, to the process that waited for
// it. Looks that skid have one, too, which is spread over those that tell. It is unseen nanoseconds of the process's
// clock ([Process.Unseen]). One child of a few milliseconds has a sample or none, but all of them together have many.
// It is not done, and false, if the child has used so much that its own samples say enough: a period is the time that
// each stands for.
func (p *Process) PassTo(to *Process, unseen, period int64, program string) bool {
	if p.used+unseen >= shortProcess*period {
		return false
	}
	p.claims.join(&p.unproven)
	p.claims.deduct()
	kids := p.claims.of(program)
	to.kids.join(&kids)
	to.kidsSkidded += p.skidded.ns
	to.passedOn += unseen + p.givenBack
	p.claims, p.skidded, p.givenBack = claims{}, skidded{}, 0
	return true
}

// Children books processor time of the process's children that nobody met: under what was sampled of them, and the rest
// under [ShortLivedChildren].
func (p *Process) Children(ns, now int64, emit func(Span)) {
	ns += p.passedOn
	rest := p.kids.payUpTo(ns, p.kidsSkidded+p.kids.byChance(), func(k claim, ns int64) {
		p.ofEnded(Span{Seen: k.where, Leaf: k.where.Only, End: min((k.second+1)*1e9, now)}, ns, emit)
	})
	p.kids, p.passedOn, p.kidsSkidded = claims{}, 0, 0
	p.ofEnded(Span{Seen: Seen{State: Running}, Leaf: ShortLivedChildren, End: now}, rest, emit)
}
