// SPDX-License-Identifier: Apache-2.0

package errs

import (
	"errors"
	"io"
	"os"
	"testing"
)

func TestJoinedErrorsAreOneLine(t *testing.T) {
	err := Join(nil, io.EOF, &Error{Code: ExitFailed}, nil, os.ErrNotExist)
	if want := "EOF; file does not exist"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if !errors.Is(err, io.EOF) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v does not wrap both", err)
	}
	if Join(nil, nil) != nil || Join(nil, io.EOF) != io.EOF {
		t.Error("one error or none is joined")
	}
}
