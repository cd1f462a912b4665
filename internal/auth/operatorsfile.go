package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"redrain/internal/reread"
)

// OperatorsFile holds the operators that a file names. It is read again when it changes, so that a removed operator
// is refused within seconds.
type OperatorsFile struct{ files *reread.Files[[]namedToken] }

// namedToken is a token of a person.
type namedToken struct {
	hash [sha256.Size]byte
	who  Operator
}

// maxOperatorName is the length of an operator's name, in bytes.
const maxOperatorName = 60

// NewOperatorsFile reads the file. The error describes its fault, and repeats no hash.
func NewOperatorsFile(path string, log *slog.Logger) (*OperatorsFile, error) {
	files, err := reread.New("the operators", log, func() ([]namedToken, error) { return readOperators(path) }, path)
	if err != nil {
		return nil, err
	}
	return &OperatorsFile{files}, nil
}

// Operator returns the owner of a token. It compares with all of them, in a time that is the same for every token.
func (f *OperatorsFile) Operator(_ context.Context, bearer string) (Operator, error) {
	got := sha256.Sum256([]byte(bearer))
	who, err := Operator{}, ErrNoOperator
	for _, one := range f.files.Newest() {
		if same(&one.hash, &got) {
			who, err = one.who, nil
		}
	}
	return who, err
}

func readOperators(path string) ([]namedToken, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name   string `yaml:"name"`
		Role   string `yaml:"role"`
		SHA256 string `yaml:"sha256"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&rows); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("want a list of operators with name, role and sha256 each")
	}
	list := make([]namedToken, 0, len(rows))
	for n, row := range rows {
		one, err := newNamedToken(row.Name, row.Role, row.SHA256)
		if err != nil {
			return nil, fmt.Errorf("operator %d: %w", n+1, err)
		}
		for _, other := range list {
			switch {
			case other.hash == one.hash:
				return nil, fmt.Errorf("operator %d: %s has the same token as %s", n+1, one.who.Name, other.who.Name)
			case other.who.Name != one.who.Name && strings.EqualFold(other.who.Name, one.who.Name):
				return nil, fmt.Errorf("operator %d: %s and %s differ only in capitals", n+1, one.who.Name,
					other.who.Name)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

func newNamedToken(name, role, hash string) (one namedToken, err error) {
	if err := CheckOperatorName(name); err != nil {
		return one, err
	}
	if one.who.Roles, err = ParseRoles(role); err != nil {
		return one, fmt.Errorf("%s: role: %w", name, err)
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return one, fmt.Errorf("%s: sha256: give the 64 hex digits that redrain operator token prints", name)
	}
	one.hash = [sha256.Size]byte(sum)
	one.who.Name, one.who.ID = name, "token:"+name
	return one, nil
}

// CheckOperatorName returns an error unless a person can have the name.
func CheckOperatorName(name string) error {
	switch {
	case name == "" || len(name) > maxOperatorName || !utf8.ValidString(name) || strings.TrimSpace(name) != name ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("name: give 1 to %d bytes that can be printed, without spaces around", maxOperatorName)
	case strings.EqualFold(name, sharedOperator) || strings.EqualFold(name, sharedViewer):
		return fmt.Errorf("name: %q is the name of a shared token; give a person's", name)
	}
	return nil
}

// NewOperatorToken returns an unpredictable token, and its hash for the file.
func NewOperatorToken() (token, hash string) {
	token = "redrain_" + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
