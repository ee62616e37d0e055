// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"path"

	"prywalk/frames"
)

// FirstOf is a [Detector]'s search: the first runtime that try finds in a module, past those that have not begun or are
// not read, as a process can have several libraries of a language and use one. language is for the error. It stays
// [ErrNotYet] while one has not begun.
func FirstOf[R Runtime](h Host, language string, try func(m *frames.Module) (r R, found bool, err error)) (
	Runtime, error,
) {
	var unread error
	waits := false
	for _, m := range h.Modules() {
		switch r, found, err := try(m); {
		case errors.Is(err, ErrNotYet):
			waits = true
		case err != nil && unread == nil:
			unread = fmt.Errorf("the functions of %s in %s have no names: %w", language, path.Base(m.Name), err)
		case err == nil && found:
			return r, nil
		}
	}
	switch {
	case waits && unread != nil:
		return nil, unreadYet{unread}
	case waits:
		return nil, ErrNotYet
	}
	return nil, unread
}

// unreadYet is the reason why a runtime is not read, and [ErrNotYet] of another.
type unreadYet struct{ error }

// Is makes it an [ErrNotYet], too.
func (unreadYet) Is(target error) bool { return target == ErrNotYet }
