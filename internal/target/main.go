package target

import (
	"strings"

	"prywalk/frames"
)

// Main gives the module of the program's own code, as of the last Refresh; nil if
// it is not known.
func (p *Process) Main() *frames.Module {
	exe, err := p.Exe()
	if err != nil {
		return nil
	}
	exe = strings.TrimSuffix(exe, " (deleted)")
	for _, m := range p.space.Modules() {
		if m.Name == exe {
			return m
		}
	}
	return nil
}
