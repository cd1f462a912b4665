package main

import (
	"os"
	"regexp"
)

// versionHeading matches a version's heading in CHANGELOG.md, such as "## [0.1.0] - 2026-12-01".
var versionHeading = regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`)

// unreleased is the version before the first heading.
const unreleased = "0.0.0-dev"

// newestVersion returns the newest version in a changelog.
func newestVersion(changelog string) (string, error) {
	text, err := os.ReadFile(changelog) //nolint:gosec // our own file
	if err != nil {
		return "", err
	}
	if found := versionHeading.FindSubmatch(text); found != nil {
		return string(found[1]), nil
	}
	return unreleased, nil
}
