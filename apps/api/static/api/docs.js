// Starts Swagger UI. A file of its own, because the Content-Security-Policy forbids inline scripts.
"use strict";

(() => {
  const place = document.getElementById("description");
  const cookie = (name) =>
    document.cookie
      .split("; ")
      .filter((part) => part.startsWith(`${name}=`))
      .map((part) => decodeURIComponent(part.slice(name.length + 1)))[0];

  // A button inside a button cannot be reached by keyboard: signing in is done once, on top.
  const withoutLocks = () => ({ wrapComponents: { authorizeOperationBtn: () => () => null } });

  // Swagger UI goes from the first level of headings to the third, and leaves its top outside every landmark.
  const repairOutline = () => {
    place.querySelectorAll("h3.opblock-tag").forEach((heading) => heading.setAttribute("aria-level", "2"));
    const tops = { ".information-container": "About this API", ".scheme-container": "Sign-in" };
    for (const [selector, label] of Object.entries(tops)) {
      const part = place.querySelector(selector);
      part?.setAttribute("role", "region");
      part?.setAttribute("aria-label", label);
    }
  };

  SwaggerUIBundle({
    url: place.dataset.url,
    domNode: place,
    plugins: [withoutLocks],
    validatorUrl: null,
    docExpansion: "list",
    defaultModelsExpandDepth: -1,
    onComplete: repairOutline,
    requestInterceptor: (request) => {
      if (!["GET", "HEAD", "OPTIONS"].includes((request.method || "GET").toUpperCase())) {
        request.headers["X-CSRFToken"] = cookie("csrftoken") || "";
      }
      return request;
    },
  });
})();
