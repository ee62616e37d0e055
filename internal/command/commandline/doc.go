// SPDX-License-Identifier: Apache-2.0

// Package commandline parses and shows prywalk's command line: flag values, help, help pages, suggestions for typos.
package commandline
