// Says that a browser is too old for the page, in a language that the oldest ones read: no module, nothing newer than
// ES5. data-needs lists the features that the page requires; a module that cannot be parsed shows by its syntax error.
(function () {
  var root = document.documentElement;

  function old() {
    if (root.className.indexOf("too-old") < 0) root.className += " too-old";
  }

  var needs = (root.getAttribute("data-needs") || "").split(" ");
  for (var i = 0; i < needs.length; i++) if (needs[i] && !(needs[i] in window)) old();
  if (!("noModule" in document.createElement("script"))) old();
  window.addEventListener("error", function (e) {
    if (/SyntaxError/.test(e.message)) old();
  });
})();
