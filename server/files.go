package server

import (
	"log/slog"
	"slices"

	"redrain/server/config"
)

// CheckFiles reads the files that settings name, and opens nothing else. It returns the fault of each file.
func CheckFiles(cfg config.Config) []error {
	quiet := slog.New(slog.DiscardHandler)
	_, verifying := readVerifyFiles(cfg.VerifyFiles)
	faults := []error{(&Server{cfg: cfg, log: quiet}).readOperators(), verifying}
	if cfg.TLSCert != "" {
		_, err := tlsConfig(cfg.TLSCert, cfg.TLSKey, quiet)
		faults = append(faults, err)
	}
	return slices.DeleteFunc(faults, func(err error) bool { return err == nil })
}
