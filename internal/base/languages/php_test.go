// SPDX-License-Identifier: Apache-2.0

package languages

import "testing"

func TestFilesOfPHPAreItsInterpreters(t *testing.T) {
	for file, want := range map[string]bool{"php": true, "php8.2": true, "php-fpm8.2": true, "php-cgi": true,
		"phpdbg": true, "phpdbg8.2": true, "libphp.so": true, "libphp8.2.so": true, "phpstan": false, "php-server": false} {
		if php.System.Files.MatchString(file) != want || php.Hints[0].Files.MatchString(file) != want {
			t.Errorf("%s: want %v", file, want)
		}
	}
}
