package report

import "prywalk/internal/namehints"

// support tells functions of the language and the system (1) from those of the program (0).
func (f *frame) support() int {
	if f.synthetic() || namehints.Support(f.name, f.module) {
		return 1
	}
	return 0
}
