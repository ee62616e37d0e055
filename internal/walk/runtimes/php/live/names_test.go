// SPDX-License-Identifier: Apache-2.0

package live

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func TestNamesOfEveryKindAreNamed(t *testing.T) {
	const class, long = `Größe\Ünï::`, "Ein_Name_von_mehr_als_hundertvier_Bytes_den_die_Laufzeit_ohne_Hash_laesst_weil_" +
		"er_grosse_Buchstaben_hat_und_lang_ist"
	want := []string{"usleep", `Größe\rests`, `Größe\kürzer`, `Größe\Länger`, class + "函数", class + "größe", class + long,
		"skript_größe.php"}
	code, err := os.ReadFile("testdata/names.php")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "größe", "skript_größe.php")
	if err := os.Mkdir(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, code, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			pid := php.startPath(t, script, "600")
			testtargets.Asleep(t, pid)
			for _, how := range []string{"dump", "core"} {
				var names []string
				for _, f := range managedFrames(sampleHow(t, how, pid)) {
					if names = append(names, f.Function); f.Function != "usleep" && f.File != script {
						t.Errorf("%s: %s is in %s", how, f.Function, f.File)
					}
				}
				if !slices.Equal(names, want) {
					t.Errorf("%s: %s, want %s", how, strings.Join(names, ", "), strings.Join(want, ", "))
				}
			}
		})
	}
}
