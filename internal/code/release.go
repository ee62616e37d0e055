package code

// release lets go of what only walks need, when the process is closed: a recording keeps the modules of every process
// that it has seen, for their names, and a rule cache alone takes some hundred kilobytes. What names need stays: the
// images, and the lists of code that describes itself.
func (p *Process) release() {
	p.space, p.runtimes, p.JITFuncs, p.jit = nil, nil, nil, nil
	p.text, p.code, p.spans = nil, nil, nil
}
