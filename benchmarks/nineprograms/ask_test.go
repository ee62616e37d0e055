package nineprograms

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// TestThePlainProgramsAreAnswered: the part of the script that needs nothing but compilers.
func TestThePlainProgramsAreAnswered(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "ask.sh", binary, "cpp", "go", "python")
	cmd.Env = append(os.Environ(), "SECONDS_EACH=3")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{`(?m)^cpp: row \d: .*shop::Invoice::total`, `(?m)^go: row \d: .*main\.invoiceTotal`, `(?m)^python: row \d: .*invoice_total`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
